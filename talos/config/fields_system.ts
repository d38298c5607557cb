// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Field table: the operating system and its containers. `schema.ts` explains the notation.
 *
 * @module
 */

/** Types and their fields, in the order in which Talos prints them. */
export const SYSTEM_FIELDS = `
EnvironmentConfig@13 apiVersion?:str kind:str variables:{str}
EtcFileConfig@14 apiVersion?:str kind:str name:str mode:octal contents:str
EventSinkConfig@5 apiVersion?:str kind:str endpoint:str
KernelModuleConfig@14 apiVersion?:str kind:str name:str parameters?:[str]
KmsgLogConfig@5 apiVersion?:str kind:str name:str url:url
OOMConfig@12 apiVersion?:str kind:str triggerExpression?:cel cgroupRankingExpression?:cel
  strictCgroupClassOrdering?:*bool sampleInterval?:duration
SecurityProfileConfig@14 apiVersion?:str kind:str workloadIsolation?:*bool
SysctlConfig@14 apiVersion?:str kind:str params:{str}
SysfsConfig@14 apiVersion?:str kind:str params:{str}
UdevRulesConfig@14 apiVersion?:str kind:str rules?:[str]
UnattendedInstallConfig@14 apiVersion?:str kind:str reboot?:*bool installer:InstallerSpec
  provisioning:RuntimeProvisioningSpec
InstallerSpec image?:str
RuntimeProvisioningSpec diskSelector?:DiskSelectorSpec wipe?:*bool
DiskSelectorSpec match?:cel
WatchdogTimerConfig@7 apiVersion?:str kind:str device:str timeout?:duration
ExtensionServiceConfig@7 apiVersion?:str kind:str name:str configFiles?:[ConfigFile]#mountPath
  environment?:[str]
ConfigFile content:str mountPath:str
ImageVerificationConfig@13 apiVersion?:str kind:str rules?:[ImageVerificationRule]#!image
ImageVerificationRule image?:str skip?:*bool deny?:*bool keyless?:*ImageKeylessVerifier
  publicKey?:*ImagePublicKeyVerifier
ImageKeylessVerifier issuer?:str subject?:str subjectRegex?:str
ImagePublicKeyVerifier certificate?:str
TrustedRootsConfig@8 apiVersion?:str kind:str name:str certificates:str
CRIBaseRuntimeSpecConfig@14 apiVersion?:str kind:str overrides?:={any}
CRICustomizationConfig@14 apiVersion?:str kind:str name:str content:str
ImageCacheConfig@14 apiVersion?:str kind:str local:LocalImageCacheConfig
LocalImageCacheConfig enabled?:*bool
RegistryAuthConfig@12 apiVersion?:str kind:str name:str username?:str password?:str auth?:str
  identityToken?:str
RegistryMirrorConfig@12 apiVersion?:str kind:str name:str endpoints?:[RegistryEndpoint]
  skipFallback?:*bool
RegistryEndpoint url:url overridePath?:*bool
RegistryTLSConfig@12 apiVersion?:str kind:str name:str clientIdentity?:*MetaCertificateAndKey
  ca?:str insecureSkipVerify?:*bool
ContainerConfig@14 apiVersion?:str kind:str name:str image:str entrypoint?:[str] args?:[str]
  workingDir?:str runAs?:*ContainerRunAs environment?:[str] mounts?:[ContainerMount]
  security?:*ContainerSecurity network?:*ContainerNetwork resources?:*ContainerResources
  dependsOn?:*ContainerDependsOn
ContainerRunAs uid?:*int32 gid?:*int32
ContainerMount userVolume?:*UserVolumeMount tmpfs?:*TmpfsMount hostPath?:*HostPathMount
UserVolumeMount name:str destination:str options?:[str]
TmpfsMount destination:str size?:str options?:[str]
HostPathMount source:str destination:str options?:[str]
ContainerSecurity profile?:str capabilities?:*ContainerCapabilities
ContainerCapabilities add?:[str] drop?:[str]
ContainerNetwork mode?:str
ContainerResources limits?:*ContainerResourceLimits
ContainerResourceLimits cpu?:str memory?:str
ContainerDependsOn paths?:[str] networks?:[str] time?:*bool containers?:[str]
PCIDriverRebindConfig@10 apiVersion?:str kind:str name:str targetDriver:str
SideroLinkConfig@5 apiVersion?:str kind:str apiUrl:url uniqueToken?:str@10
`;
