// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Field table: the cluster half of the v1alpha1 document. `schema.ts` explains the notation.
 *
 * @module
 */

/** Types and their fields, in the order in which Talos prints them. */
export const V1ALPHA1_CLUSTER_FIELDS = `
ClusterConfig id?:str secret?:str controlPlane?:*ControlPlaneConfig clusterName?:str
  network?:*ClusterNetworkConfig token?:str aescbcEncryptionSecret?:str
  secretboxEncryptionSecret?:str@3 ca?:*CertificateAndKey acceptedCAs?:[*Certificate]@7
  aggregatorCA?:*CertificateAndKey serviceAccount?:*Key apiServer?:*APIServerConfig
  controllerManager?:*ControllerManagerConfig proxy?:*ProxyConfig scheduler?:*SchedulerConfig
  discovery?:*ClusterDiscoveryConfig etcd?:*EtcdConfig coreDNS?:*CoreDNS
  externalCloudProvider?:*ExternalCloudProviderConfig extraManifests?:[str]
  extraManifestHeaders?:{str} inlineManifests?:[ClusterInlineManifest]
  adminKubeconfig?:*AdminKubeconfigConfig allowSchedulingOnMasters?:*bool
  allowSchedulingOnControlPlanes?:*bool@2
ControlPlaneConfig endpoint:*url localAPIServerPort?:int
ClusterNetworkConfig cni?:*CNIConfig dnsDomain:str podSubnets:=[str] serviceSubnets:=[str]
CNIConfig name?:str urls?:[str] flannel?:*FlannelCNIConfig@6
FlannelCNIConfig extraArgs?:[str] kubeNetworkPoliciesEnabled?:*bool@13
Key key:base64
APIServerConfig image?:str extraArgs?:{arg} extraVolumes?:[VolumeMountConfig] env?:{str}
  certSANs?:[str] disablePodSecurityPolicy?:*bool admissionControl?:[*AdmissionPluginConfig]#name
  auditPolicy?:={any}@3 resources?:*ResourcesConfig@5
  authorizationConfig?:[*AuthorizationConfigAuthorizerConfig]@9
VolumeMountConfig hostPath:str mountPath:str readonly?:bool
AdmissionPluginConfig name:str configuration:{any}
ResourcesConfig requests?:{any} limits?:{any}
AuthorizationConfigAuthorizerConfig type:str name:str webhook?:{any}
ControllerManagerConfig image?:str extraArgs?:{arg} extraVolumes?:[VolumeMountConfig] env?:{str}
  resources?:*ResourcesConfig@5
ProxyConfig disabled?:*bool image?:str mode?:str extraArgs?:{arg}
SchedulerConfig image?:str extraArgs?:{arg} extraVolumes?:[VolumeMountConfig] env?:{str}
  resources?:*ResourcesConfig@5 config?:{any}@6
ClusterDiscoveryConfig enabled?:*bool registries:DiscoveryRegistriesConfig
DiscoveryRegistriesConfig kubernetes:RegistryKubernetesConfig service:RegistryServiceConfig
RegistryKubernetesConfig disabled?:*bool
RegistryServiceConfig disabled?:*bool endpoint?:str
EtcdConfig image?:str ca:*CertificateAndKey extraArgs?:{arg} subnet?:str
  advertisedSubnets?:[str]@2 listenSubnets?:[str]@2
CoreDNS disabled?:*bool image?:str
ExternalCloudProviderConfig enabled?:*bool manifests?:[str]
ClusterInlineManifest name:str contents:trimmed
AdminKubeconfigConfig certLifetime?:duration
`;
