// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Field table: Kubernetes documents. `schema.ts` explains the notation.
 *
 * @module
 */

/** Types and their fields, in the order in which Talos prints them. */
export const KUBERNETES_FIELDS = `
KubeAPIServerCAConfig@14 apiVersion?:str kind:str issuingCA?:*MetaCertificateAndKey
  acceptedCAs?:[str]
MetaCertificateAndKey cert?:str key?:str
KubeAPIServerConfig@14 apiVersion?:str kind:str image:str extraArgs?:{arg} env?:{str}
  resources?:K8sResourcesConfig apiPort?:*int certExtraSANs?:[str] startupProbes?:*bool
K8sResourcesConfig requests?:{any} limits?:{any}
KubeAdmissionControlConfig@14 apiVersion?:str kind:str name:str configuration:{any}
KubeAggregatorCAConfig@14 apiVersion?:str kind:str issuingCA?:*MetaCertificateAndKey
  acceptedCAs?:[str]
KubeAuditPolicyConfig@14 apiVersion?:str kind:str configuration:={any}
KubeAuthenticationConfig@14 apiVersion?:str kind:str configuration:={any}
KubeAuthorizerConfig@14 apiVersion?:str kind:str name:str type:str webhook?:{any}
KubeClusterConfig@14 apiVersion?:str kind:str clusterName:str endpoint:url
KubeControllerManagerConfig@14 apiVersion?:str kind:str enabled?:*bool image:str extraArgs?:{arg}
  env?:{str} resources?:K8sResourcesConfig
KubeCoreDNSConfig@14 apiVersion?:str kind:str enabled?:*bool image?:str
KubeCredentialProviderConfig@14 apiVersion?:str kind:str configuration:={any}
KubeEtcdEncryptionConfig@14 apiVersion?:str kind:str config:{any}
KubeExternalManifestConfig@14 apiVersion?:str kind:str name:str headers?:{str} url:url
KubeFlannelCNIConfig@14 apiVersion?:str kind:str backendType:str backendPort?:uint16
  backendMTU?:uint32 backendExtraConfig?:{any} resources?:K8sResourcesConfig extraArgs?:[str]
  kubeNetworkPoliciesEnabled?:*bool
KubeInlineManifestConfig@14 apiVersion?:str kind:str name:str manifest:str
KubeNetworkConfig@14 apiVersion?:str kind:str dnsDomain:str podSubnets:=[prefix]
  serviceSubnets:=[prefix] nodeCIDRMaskSizeIPv4?:int nodeCIDRMaskSizeIPv6?:int
KubeNodeConfig@14 apiVersion?:str kind:str skipNodeRegistration?:*bool registerWithFQDN?:*bool
  nodeIP:NodeIPConfig labels?:{str} annotations?:{str} taints?:{str}
NodeIPConfig validSubnets?:[str]
KubePrismConfig@14 apiVersion?:str kind:str port:int tlsServerName?:str
KubeProxyConfig@14 apiVersion?:str kind:str enabled?:*bool image?:str mode?:str config:{any}
  extraArgs?:{arg} resources?:K8sResourcesConfig
KubeSchedulerConfig@14 apiVersion?:str kind:str enabled?:*bool image:str config:{any}
  extraArgs?:{arg} env?:{str} resources?:K8sResourcesConfig
KubeServiceAccountConfig@14 apiVersion?:str kind:str issuer:IssuerServiceAccountConfig
  accepted?:AcceptedServiceAccountConfig
IssuerServiceAccountConfig privateKey:str issuerURL:url
AcceptedServiceAccountConfig publicKeys?:[str] issuers?:[url] audiences?:[str]
KubeStaticPodConfig@14 apiVersion?:str kind:str name:str pod:={any}
KubeTalosAPIAccessConfig@14 apiVersion?:str kind:str allowedRoles?:[str]
  allowedKubernetesNamespaces?:[str]
KubeletConfig@14 apiVersion?:str kind:str image:str config:{any} extraArgs?:{arg}
  clusterDNS?:[str] defaultRuntimeSeccompProfileEnabled?:*bool
DiscoveryIdentityConfig@14 apiVersion?:str kind:str clusterID:str clusterSecret:str
DiscoveryServiceConfig@14 apiVersion?:str kind:str name:str endpoint:url
`;
