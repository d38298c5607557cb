// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Field table: the machine half of the v1alpha1 document. `schema.ts` explains the notation.
 *
 * @module
 */

/** Types and their fields, in the order in which Talos prints them. */
export const V1ALPHA1_MACHINE_FIELDS = `
V1alpha1 version:str debug?:*bool persist?:*bool machine:*MachineConfig cluster:*ClusterConfig
MachineConfig type:str token:str ca?:*CertificateAndKey acceptedCAs?:[*Certificate]@7
  certSANs:[str] controlPlane?:*MachineControlPlaneConfig kubelet?:*V1alpha1KubeletConfig
  pods?:[{any}] network?:*NetworkConfig disks?:[*MachineDisk] install?:*InstallConfig
  files?:[*MachineFile] env?:{str} time?:*TimeConfig sysctls?:{str} sysfs?:{str}
  registries?:RegistriesConfig systemDiskEncryption?:*SystemDiskEncryptionConfig
  features?:*FeaturesConfig udev?:*UdevConfig logging?:*LoggingConfig kernel?:*KernelConfig
  seccompProfiles?:[*MachineSeccompProfile]@2 baseRuntimeSpecOverrides?:{any}@9
  nodeLabels?:{str}@3 nodeAnnotations?:{str}@8 nodeTaints?:{str}@6
CertificateAndKey crt:base64 key:base64
Certificate crt:base64
MachineControlPlaneConfig controllerManager?:*MachineControllerManagerConfig
  scheduler?:*MachineSchedulerConfig
MachineControllerManagerConfig disabled?:*bool
MachineSchedulerConfig disabled?:*bool
V1alpha1KubeletConfig image?:str clusterDNS?:[str] extraArgs?:{arg} extraMounts?:[ExtraMount]
  extraConfig?:{any} credentialProviderConfig?:{any}@6
  defaultRuntimeSeccompProfileEnabled?:*bool@2 registerWithFQDN?:*bool
  nodeIP?:*KubeletNodeIPConfig skipNodeRegistration?:*bool@2 disableManifestsDirectory?:*bool@3
ExtraMount destination:str type?:str source?:str options?:[str] uidMappings?:[LinuxIDMapping]
  gidMappings?:[LinuxIDMapping]
LinuxIDMapping containerID:uint32 hostID:uint32 size:uint32
KubeletNodeIPConfig validSubnets?:[str]
NetworkConfig hostname?:str interfaces?:[*Device]#interface,deviceSelector nameservers?:[str]
  searchDomains?:[str]@9 extraHostEntries?:[*ExtraHost] kubespan?:*NetworkKubeSpan
  disableSearchDomain?:*bool@1
Device interface?:str deviceSelector?:*NetworkDeviceSelector@1 addresses?:[str] cidr?:str
  routes?:[*Route] bond?:*Bond bridge?:*Bridge@2 bridgePort?:*BridgePort@9 vlans?:[*Vlan]#vlanId
  mtu?:int dhcp?:*bool ignore?:*bool dummy?:*bool dhcpOptions?:*DHCPOptions
  wireguard?:*DeviceWireguardConfig vip?:*DeviceVIPConfig
NetworkDeviceSelector busPath?:str hardwareAddr?:str permanentAddr?:str@9 pciID?:str driver?:str
  physical?:*bool@7
Route network:str gateway:str source?:str metric?:uint32 mtu?:uint32@3
Bond interfaces:[str] deviceSelectors?:[NetworkDeviceSelector]@4 arpIPTarget?:[str] mode:str
  xmitHashPolicy?:str lacpRate?:str adActorSystem?:str arpValidate?:str arpAllTargets?:str
  primary?:str primaryReselect?:str failOverMac?:str adSelect?:str miimon?:uint32 updelay?:uint32
  downdelay?:uint32 arpInterval?:uint32 resendIgmp?:uint32 minLinks?:uint32 lpInterval?:uint32
  packetsPerSlave?:uint32 numPeerNotif?:uint8 tlbDynamicLb?:uint8 allSlavesActive?:uint8
  useCarrier?:*bool adActorSysPrio?:uint16 adUserPortKey?:uint16 peerNotifyDelay?:uint32
Bridge interfaces:[str] stp?:*STP vlan?:*BridgeVLAN@8
STP enabled?:*bool
BridgeVLAN vlanFiltering?:*bool
BridgePort master?:str
Vlan addresses?:[str] cidr?:str routes:[*Route] dhcp?:*bool vlanId:uint16 mtu?:uint32
  vip?:*DeviceVIPConfig dhcpOptions?:*DHCPOptions@2
DeviceVIPConfig ip?:str equinixMetal?:*VIPEquinixMetalConfig hcloud?:*VIPHCloudConfig
VIPEquinixMetalConfig apiToken:str
VIPHCloudConfig apiToken:str
DHCPOptions routeMetric:uint32 ipv4?:*bool ipv6?:*bool duidv6?:str@1
DeviceWireguardConfig privateKey?:str listenPort?:int firewallMark?:int
  peers?:[*DeviceWireguardPeer]
DeviceWireguardPeer publicKey?:str endpoint?:str persistentKeepaliveInterval?:duration
  allowedIPs?:[str]
ExtraHost ip:str aliases:[str]
NetworkKubeSpan enabled?:*bool advertiseKubernetesNetworks?:*bool@2 allowDownPeerBypass?:*bool
  harvestExtraEndpoints?:*bool@6 mtu?:*uint32@3 filters?:*KubeSpanFilters@3
KubeSpanFilters endpoints?:[str] excludeAdvertisedNetworks?:[str]@12
MachineDisk device?:str partitions?:[*DiskPartition]
DiskPartition size?:diskSize mountpoint?:str
InstallConfig disk?:str diskSelector?:*InstallDiskSelector extraKernelArgs?:[str] image?:str
  extensions?:[InstallExtensionConfig] bootloader?:*bool wipe:*bool legacyBIOSSupport?:*bool
  grubUseUKICmdline?:*bool@12
InstallDiskSelector size?:*diskMatcher name?:str model?:str serial?:str modalias?:str uuid?:str
  wwid?:str type?:str busPath?:str
InstallExtensionConfig image:str
MachineFile content:str permissions:octal path:str op:str
TimeConfig disabled?:*bool servers?:[str] bootTimeout?:duration
RegistriesConfig mirrors?:{*V1alpha1RegistryMirrorConfig} config?:{*RegistryConfig}
V1alpha1RegistryMirrorConfig endpoints:[str] overridePath?:*bool@3 skipFallback?:*bool@9
RegistryConfig tls?:*V1alpha1RegistryTLSConfig auth?:*V1alpha1RegistryAuthConfig
V1alpha1RegistryTLSConfig clientIdentity?:*CertificateAndKey ca?:base64 insecureSkipVerify?:*bool
V1alpha1RegistryAuthConfig username?:str password?:str auth?:str identityToken?:str
SystemDiskEncryptionConfig state?:*EncryptionConfig ephemeral?:*EncryptionConfig
EncryptionConfig provider:str keys:[*EncryptionKey] cipher?:str keySize?:uint blockSize?:uint
  options?:[str]
EncryptionKey static?:*EncryptionKeyStatic nodeID?:*EncryptionKeyNodeID kms?:*EncryptionKeyKMS@5
  slot:int tpm?:*EncryptionKeyTPM@5
EncryptionKeyStatic passphrase?:str
EncryptionKeyNodeID
EncryptionKeyKMS endpoint:str
EncryptionKeyTPM checkSecurebootStatusOnEnroll?:*bool
FeaturesConfig rbac?:*bool stableHostname?:*bool@2
  kubernetesTalosAPIAccess?:*KubernetesTalosAPIAccessConfig@2 apidCheckExtKeyUsage?:*bool@3
  diskQuotaSupport?:*bool@5 kubePrism?:*KubePrism@5 hostDNS?:*HostDNSConfig@7
  imageCache?:*V1alpha1ImageCacheConfig@9 nodeAddressSortAlgorithm?:str@9
KubernetesTalosAPIAccessConfig enabled?:*bool allowedRoles?:[str]
  allowedKubernetesNamespaces?:[str]
KubePrism enabled?:*bool port?:int
HostDNSConfig enabled?:*bool forwardKubeDNSToHost?:*bool resolveMemberNames?:*bool
V1alpha1ImageCacheConfig localEnabled?:*bool
UdevConfig rules?:[str]
LoggingConfig destinations:[LoggingDestination]
LoggingDestination endpoint:*url format:str extraTags?:{str}@7
KernelConfig modules?:[*V1alpha1KernelModuleConfig]
V1alpha1KernelModuleConfig name:str parameters?:[str]@3
MachineSeccompProfile name:str value:{any}
`;
