// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Field table: network documents. `schema.ts` explains the notation.
 *
 * @module
 */

/** Types and their fields, in the order in which Talos prints them. */
export const NETWORK_FIELDS = `
BGPInstanceConfig@14 apiVersion?:str kind:str name:str vrf?:str localASN:uint32 routerID?:addr
  routeSource?:addr advertise?:=[str] multipath?:*bool maxPaths?:uint8 installRoutes?:*bool
  importRoutes?:=[BGPImportRoute] neighbors?:=[BGPNeighborConfig]
BGPImportRoute bgpInstance:str prefixes:[prefix]
BGPNeighborConfig address?:addr link?:str peerASN?:uint32 localASN?:uint32 passive?:bool
  holdTime?:duration bfd?:*BGPBFDConfig
BGPBFDConfig transmitInterval?:duration receiveInterval?:duration detectMultiplier?:uint8
BlackholeRouteConfig@13 apiVersion?:str kind:str name:str metric?:uint32
BondConfig@12 apiVersion?:str kind:str name:str hardwareAddr?:mac links?:[str]
  bondMode?:*%BondMode miimon?:*uint32 updelay?:*uint32 downdelay?:*uint32 useCarrier?:*bool
  xmitHashPolicy?:*%BondXmitHashPolicy arpInterval?:*uint32 arpIpTargets?:[addr]
  nsIp6Targets?:[addr] arpValidate?:*%ArpValidate arpAllTargets?:*%ArpAllTargets
  lacpRate?:*%LacpRate failOverMac?:*%FailOverMac adSelect?:*%AdSelect adActorSysPrio?:*uint16
  adUserPortKey?:*uint16 adLACPActive?:*%OffOn primary?:*str@14 primaryReselect?:*%PrimaryReselect
  resendIGMP?:*uint32 minLinks?:*uint32 lpInterval?:*uint32 packetsPerSlave?:*uint32
  numPeerNotif?:*uint8 tlbLogicalLb?:*uint8 allSlavesActive?:*uint8 peerNotifDelay?:*uint32
  missedMax?:*uint8 up?:*bool mtu?:uint32 addresses?:[AddressConfig] routes?:[RouteConfig]
  multicast?:*bool
AddressConfig address:prefix routePriority?:*uint32
RouteConfig destination?:prefix gateway?:addr source?:addr metric?:uint32 mtu?:uint32
  table?:routingTable
BridgeConfig@12 apiVersion?:str kind:str name:str hardwareAddr?:mac links?:[str]
  stp?:BridgeSTPConfig vlan?:BridgeVLANConfig up?:*bool mtu?:uint32 addresses?:[AddressConfig]
  routes?:[RouteConfig] multicast?:*bool
BridgeSTPConfig enabled?:*bool
BridgeVLANConfig filtering?:*bool
DHCPv4Config@12 apiVersion?:str kind:str name:str routeMetric?:uint32 ignoreHostname?:*bool
  ignoreRoutes?:*bool@14 clientIdentifier?:*%ClientIdentifier duidRaw?:mac
DHCPv6Config@12 apiVersion?:str kind:str name:str routeMetric?:uint32 ignoreHostname?:*bool
  clientIdentifier?:*%ClientIdentifier duidRaw?:mac
DummyLinkConfig@12 apiVersion?:str kind:str name:str hardwareAddr?:mac up?:*bool mtu?:uint32
  addresses?:[AddressConfig] routes?:[RouteConfig] multicast?:*bool
EthernetConfig@10 apiVersion?:str kind:str name:str features?:{bool} rings?:*EthernetRingsConfig
  channels?:*EthernetChannelsConfig wakeOnLan?:[%WolMode]@12
EthernetRingsConfig rx?:*uint32 tx?:*uint32 rx-mini?:*uint32 rx-jumbo?:*uint32 rx-buf-len?:*uint32
  cqe-size?:*uint32 tx-push?:*bool rx-push?:*bool tx-push-buf-len?:*uint32 tcp-data-split?:*bool
EthernetChannelsConfig rx?:*uint32 tx?:*uint32 other?:*uint32 combined?:*uint32
HCloudVIPConfig@12 apiVersion?:str kind:str name:str link:str apiToken:str
HTTPProbeConfig@14 apiVersion?:str kind:str name:str interval?:duration failureThreshold?:int
  url:url timeout?:duration
HostnameConfig@12 apiVersion?:str kind:str auto?:*%AutoHostname hostname?:str
KubeSpanConfig@13 apiVersion?:str kind:str enabled?:*bool advertiseKubernetesNetworks?:*bool
  allowDownPeerBypass?:*bool harvestExtraEndpoints?:*bool mtu?:*uint32
  filters?:*KubeSpanFiltersConfig
KubeSpanFiltersConfig endpoints?:[str] excludeAdvertisedNetworks?:[prefix]
KubeSpanEndpointsConfig@8 apiVersion?:str kind:str extraAnnouncedEndpoints:[addrPort]
Layer2VIPConfig@12 apiVersion?:str kind:str name:str link:str
LinkAliasConfig@12 apiVersion?:str kind:str name:str selector?:LinkSelector
LinkSelector match?:cel
LinkConfig@12 apiVersion?:str kind:str name:str up?:*bool mtu?:uint32 addresses?:[AddressConfig]
  routes?:[RouteConfig] multicast?:*bool
NetworkDefaultActionConfig@6 apiVersion?:str kind:str ingress:%DefaultAction
NetworkRuleConfig@6 apiVersion?:str kind:str name:str portSelector:RulePortSelector
  ingress:=[IngressRule]
RulePortSelector ports:=[portRange] protocol:%Protocol
IngressRule subnet:prefix except?:prefix
ResolverConfig@12 apiVersion?:str kind:str nameservers?:[NameserverConfig]
  searchDomains?:SearchDomainsConfig hostDNS?:NetworkHostDNSConfig@14
NameserverConfig address:addr protocol?:%DnsProtocol@14 tlsServerName?:str@14
SearchDomainsConfig domains?:[str] disableDefault?:*bool
NetworkHostDNSConfig enabled?:*bool forwardKubeDNSToHost?:*bool resolveMemberNames?:*bool
RoutingRuleConfig@13 apiVersion?:str kind:str name:str src?:prefix dst?:prefix table:routingTable
  action?:%RoutingRuleAction iifName?:str oifName?:str fwMark?:uint32 fwMask?:uint32
StaticHostConfig@12 apiVersion?:str kind:str name:str hostnames:[str]
TCPProbeConfig@13 apiVersion?:str kind:str name:str interval?:duration failureThreshold?:int
  endpoint:str timeout?:duration
TimeSyncConfig@12 apiVersion?:str kind:str enabled?:*bool bootTimeout?:duration ntp?:*NTPConfig
  ptp?:*PTPConfig
NTPConfig servers?:[str] useNTS?:*bool@14
PTPConfig devices?:[str]
VLANConfig@12 apiVersion?:str kind:str name:str vlanID?:uint16 vlanMode?:*%VlanProtocol
  parent?:str up?:*bool mtu?:uint32 addresses?:[AddressConfig] routes?:[RouteConfig]
  multicast?:*bool
VRFConfig@13 apiVersion?:str kind:str name:str hardwareAddr?:mac links?:[str] table:routingTable
  up?:*bool mtu?:uint32 addresses?:[AddressConfig] routes?:[RouteConfig] multicast?:*bool
VethConfig@14 apiVersion?:str kind:str name:str peer:VethPeerConfig up?:*bool mtu?:uint32
  addresses?:[AddressConfig] routes?:[RouteConfig] multicast?:*bool
VethPeerConfig name:str up?:*bool mtu?:uint32 addresses?:[AddressConfig] routes?:[RouteConfig]
  multicast?:*bool
WireguardConfig@12 apiVersion?:str kind:str name:str privateKey?:str listenPort?:int
  firewallMark?:int peers?:[WireguardPeer] up?:*bool mtu?:uint32 addresses?:[AddressConfig]
  routes?:[RouteConfig] multicast?:*bool
WireguardPeer publicKey?:str presharedKey?:str endpoint?:addrPort
  persistentKeepaliveInterval?:duration allowedIPs?:[prefix]
`;
