// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Every resource type of the program, in one explicit list.
 *
 * @module
 */

import type { ResourceType } from "../cosi/resource.ts";
import { AccessPolicy } from "./auth/access_policy.ts";
import { AuthConfig } from "./auth/auth_config.ts";
import { ClusterPermission } from "./auth/cluster_permission.ts";
import { CurrentUser } from "./auth/current_user.ts";
import { EulaAcceptance } from "./auth/eula_acceptance.ts";
import { Identity } from "./auth/identity.ts";
import { IdentityLastActive } from "./auth/identity_last_active.ts";
import { IdentityStatus } from "./auth/identity_status.ts";
import { JWTPublicKey } from "./auth/jwt_public_key.ts";
import { Permission } from "./auth/permission.ts";
import { PublicKey } from "./auth/public_key.ts";
import { PublicKeyLastActive } from "./auth/public_key_last_active.ts";
import { SAMLAssertion } from "./auth/saml_assertion.ts";
import { SAMLLabelRule } from "./auth/saml_label_rule.ts";
import { ServiceAccountStatus } from "./auth/service_account_status.ts";
import { User } from "./auth/user.ts";
import { BackupData } from "./backup/backup_data.ts";
import { EtcdBackup } from "./backup/etcd_backup.ts";
import { EtcdBackupEncryption } from "./backup/etcd_backup_encryption.ts";
import { EtcdBackupOverallStatus } from "./backup/etcd_backup_overall_status.ts";
import { EtcdBackupS3Config } from "./backup/etcd_backup_s3_config.ts";
import { EtcdBackupStatus } from "./backup/etcd_backup_status.ts";
import { EtcdBackupStoreStatus } from "./backup/etcd_backup_store_status.ts";
import { EtcdManualBackup } from "./backup/etcd_manual_backup.ts";
import { Cluster } from "./cluster/cluster.ts";
import { ClusterBootstrapStatus } from "./cluster/cluster_bootstrap_status.ts";
import { ClusterConfigVersion } from "./cluster/cluster_config_version.ts";
import { ClusterDestroyStatus } from "./cluster/cluster_destroy_status.ts";
import { ClusterDiagnostic } from "./cluster/cluster_diagnostic.ts";
import { ClusterEndpoint } from "./cluster/cluster_endpoint.ts";
import { ClusterMachine } from "./cluster/cluster_machine.ts";
import { ClusterMachineEncryptionKey } from "./cluster/cluster_machine_encryption_key.ts";
import { ClusterMachineIdentity } from "./cluster/cluster_machine_identity.ts";
import { ClusterMachineSecret } from "./cluster/cluster_machine_secret.ts";
import { ClusterMachineStatus } from "./cluster/cluster_machine_status.ts";
import { ClusterMetric } from "./cluster/cluster_metric.ts";
import { ClusterSecret } from "./cluster/cluster_secret.ts";
import { ClusterSecretsRotationStatus } from "./cluster/cluster_secrets_rotation_status.ts";
import { ClusterStatus } from "./cluster/cluster_status.ts";
import { ClusterStatusMetric } from "./cluster/cluster_status_metric.ts";
import { ClusterTaint } from "./cluster/cluster_taint.ts";
import { ClusterUUID } from "./cluster/cluster_uuid.ts";
import { ControlPlaneStatus } from "./cluster/control_plane_status.ts";
import { DiscoveryAffiliateDeleteTask } from "./cluster/discovery_affiliate_delete_task.ts";
import { EtcdAuditResult } from "./cluster/etcd_audit_result.ts";
import { ImportedClusterSecret } from "./cluster/imported_cluster_secret.ts";
import { LoadBalancerConfig } from "./cluster/load_balancer_config.ts";
import { LoadBalancerStatus } from "./cluster/load_balancer_status.ts";
import { MachineSet } from "./cluster/machine_set.ts";
import { MachineSetConfigStatus } from "./cluster/machine_set_config_status.ts";
import { MachineSetDestroyStatus } from "./cluster/machine_set_destroy_status.ts";
import { MachineSetNode } from "./cluster/machine_set_node.ts";
import { MachineSetStatus } from "./cluster/machine_set_status.ts";
import { NodeForceDestroyRequest } from "./cluster/node_force_destroy_request.ts";
import { OngoingTask } from "./cluster/ongoing_task.ts";
import { RotateKubernetesCA } from "./cluster/rotate_kubernetes_ca.ts";
import { RotateTalosCA } from "./cluster/rotate_talos_ca.ts";
import { SecretRotation } from "./cluster/secret_rotation.ts";
import { ClusterMachineConfig } from "./config/cluster_machine_config.ts";
import { ClusterMachineConfigPatch } from "./config/cluster_machine_config_patch.ts";
import { ClusterMachineConfigStatus } from "./config/cluster_machine_config_status.ts";
import { ConfigPatch } from "./config/config_patch.ts";
import { MachineConfigDiff } from "./config/machine_config_diff.ts";
import { MachineConfigExtractionStatus } from "./config/machine_config_extraction_status.ts";
import { MachineConfigGenOption } from "./config/machine_config_gen_option.ts";
import { MachinePendingUpdate } from "./config/machine_pending_update.ts";
import { MaintenanceConfigStatus } from "./config/maintenance_config_status.ts";
import { RedactedClusterMachineConfig } from "./config/redacted_cluster_machine_config.ts";
import { ClusterKubernetesManifestsStatus } from "./kubernetes/cluster_kubernetes_manifests_status.ts";
import { ClusterKubernetesNode } from "./kubernetes/cluster_kubernetes_node.ts";
import { ClusterWorkloadProxyStatus } from "./kubernetes/cluster_workload_proxy_status.ts";
import { ExposedService } from "./kubernetes/exposed_service.ts";
import { ImagePullRequest } from "./kubernetes/image_pull_request.ts";
import { ImagePullStatus } from "./kubernetes/image_pull_status.ts";
import { Kubeconfig } from "./kubernetes/kubeconfig.ts";
import { KubernetesHealthCheck } from "./kubernetes/kubernetes_health_check.ts";
import { KubernetesHealthCheckStatus } from "./kubernetes/kubernetes_health_check_status.ts";
import { KubernetesManifestGroup } from "./kubernetes/kubernetes_manifest_group.ts";
import { KubernetesNodeAuditResult } from "./kubernetes/kubernetes_node_audit_result.ts";
import { KubernetesResource } from "./kubernetes/kubernetes_resource.ts";
import { KubernetesStatus } from "./kubernetes/kubernetes_status.ts";
import { KubernetesUpgradeManifestStatus } from "./kubernetes/kubernetes_upgrade_manifest_status.ts";
import { KubernetesUpgradeStatus } from "./kubernetes/kubernetes_upgrade_status.ts";
import { KubernetesUsage } from "./kubernetes/kubernetes_usage.ts";
import { KubernetesVersion } from "./kubernetes/kubernetes_version.ts";
import { Config } from "./link/config.ts";
import { ConnectionParam } from "./link/connection_param.ts";
import { DefaultJoinToken } from "./link/default_join_token.ts";
import { GRPCTunnelConfig } from "./link/grpc_tunnel_config.ts";
import { JoinRefusal } from "./link/join_refusal.ts";
import { JoinToken } from "./link/join_token.ts";
import { JoinTokenStatus } from "./link/join_token_status.ts";
import { JoinTokenUsage } from "./link/join_token_usage.ts";
import { Link } from "./link/link.ts";
import { LinkStatus } from "./link/link_status.ts";
import { MachineJoinConfig } from "./link/machine_join_config.ts";
import { NodeUniqueToken } from "./link/node_unique_token.ts";
import { NodeUniqueTokenStatus } from "./link/node_unique_token_status.ts";
import { PendingMachine } from "./link/pending_machine.ts";
import { PendingMachineStatus } from "./link/pending_machine_status.ts";
import { ProviderJoinConfig } from "./link/provider_join_config.ts";
import { SiderolinkAPIConfig } from "./link/siderolink_api_config.ts";
import { InfraMachine } from "./machine/infra_machine.ts";
import { InfraMachineBMCConfig } from "./machine/infra_machine_bmc_config.ts";
import { InfraMachineConfig } from "./machine/infra_machine_config.ts";
import { InfraMachineRegistration } from "./machine/infra_machine_registration.ts";
import { InfraMachineStatus } from "./machine/infra_machine_status.ts";
import { Machine } from "./machine/machine.ts";
import { MachineClass } from "./machine/machine_class.ts";
import { MachineInstallDiskConfig } from "./machine/machine_install_disk_config.ts";
import { MachineInstallDiskStatus } from "./machine/machine_install_disk_status.ts";
import { MachineLabel } from "./machine/machine_label.ts";
import { MachineStatus } from "./machine/machine_status.ts";
import { MachineStatusLabel } from "./machine/machine_status_label.ts";
import { MachineStatusLink } from "./machine/machine_status_link.ts";
import { MachineStatusMetric } from "./machine/machine_status_metric.ts";
import { MachineStatusSnapshot } from "./machine/machine_status_snapshot.ts";
import { MachineUpgradeStatus } from "./machine/machine_upgrade_status.ts";
import { CloudPlatformConfig } from "./media/cloud_platform_config.ts";
import { ImageFactoryAuth } from "./media/image_factory_auth.ts";
import { InstallationMedia } from "./media/installation_media.ts";
import { InstallationMediaConfig } from "./media/installation_media_config.ts";
import { MetalPlatformConfig } from "./media/metal_platform_config.ts";
import { SBCConfig } from "./media/sbc_config.ts";
import { BMCConfig } from "./provider/bmc_config.ts";
import { ClusterMachineRequestStatus } from "./provider/cluster_machine_request_status.ts";
import { ConfigPatchRequest } from "./provider/config_patch_request.ts";
import { InfraProvider } from "./provider/infra_provider.ts";
import { InfraProviderCombinedStatus } from "./provider/infra_provider_combined_status.ts";
import { InfraProviderHealthStatus } from "./provider/infra_provider_health_status.ts";
import { InfraProviderStatus } from "./provider/infra_provider_status.ts";
import { MachineRequest } from "./provider/machine_request.ts";
import { MachineRequestSet } from "./provider/machine_request_set.ts";
import { MachineRequestSetStatus } from "./provider/machine_request_set_status.ts";
import { MachineRequestStatus } from "./provider/machine_request_status.ts";
import { MIRRORED } from "./mirror/mirrored.ts";
import { AdvertisedEndpoint } from "./system/advertised_endpoint.ts";
import { BackendStatus } from "./system/backend_status.ts";
import { CertRefreshTick } from "./system/cert_refresh_tick.ts";
import { Controller } from "./system/controller.ts";
import { ControllerWait } from "./system/controller_wait.ts";
import { DBVersion } from "./system/db_version.ts";
import { FeaturesConfig } from "./system/features_config.ts";
import { LabelsCompletion } from "./system/labels_completion.ts";
import { Namespace } from "./system/namespace.ts";
import { Notification } from "./system/notification.ts";
import { Quirk } from "./system/quirk.ts";
import { ResourceDefinition } from "./system/resource_definition.ts";
import { Support } from "./system/support.ts";
import { SysVersion } from "./system/sys_version.ts";
import { ClusterMachineTalosVersion } from "./talos/cluster_machine_talos_version.ts";
import { ExtensionsConfiguration } from "./talos/extensions_configuration.ts";
import { KernelArg } from "./talos/kernel_arg.ts";
import { KernelArgsStatus } from "./talos/kernel_args_status.ts";
import { MachineExtension } from "./talos/machine_extension.ts";
import { MachineExtensionsStatus } from "./talos/machine_extensions_status.ts";
import { SchematicConfiguration } from "./talos/schematic_configuration.ts";
import { TalosConfig } from "./talos/talos_config.ts";
import { TalosExtension } from "./talos/talos_extension.ts";
import { TalosSession } from "./talos/talos_session.ts";
import { TalosSessionStatus } from "./talos/talos_session_status.ts";
import { TalosUpgradeStatus } from "./talos/talos_upgrade_status.ts";
import { TalosVersion } from "./talos/talos_version.ts";
import { UpgradeRollout } from "./talos/upgrade_rollout.ts";

/** All declared types, by area and then by name of their file; the copied ones come last. */
export const CATALOGUE: readonly ResourceType[] = [
  AccessPolicy,
  AuthConfig,
  ClusterPermission,
  CurrentUser,
  EulaAcceptance,
  Identity,
  IdentityLastActive,
  IdentityStatus,
  JWTPublicKey,
  Permission,
  PublicKey,
  PublicKeyLastActive,
  SAMLAssertion,
  SAMLLabelRule,
  ServiceAccountStatus,
  User,
  BackupData,
  EtcdBackup,
  EtcdBackupEncryption,
  EtcdBackupOverallStatus,
  EtcdBackupS3Config,
  EtcdBackupStatus,
  EtcdBackupStoreStatus,
  EtcdManualBackup,
  Cluster,
  ClusterBootstrapStatus,
  ClusterConfigVersion,
  ClusterDestroyStatus,
  ClusterDiagnostic,
  ClusterEndpoint,
  ClusterMachine,
  ClusterMachineEncryptionKey,
  ClusterMachineIdentity,
  ClusterMachineSecret,
  ClusterMachineStatus,
  ClusterMetric,
  ClusterSecret,
  ClusterSecretsRotationStatus,
  ClusterStatus,
  ClusterStatusMetric,
  ClusterTaint,
  ClusterUUID,
  ControlPlaneStatus,
  DiscoveryAffiliateDeleteTask,
  EtcdAuditResult,
  ImportedClusterSecret,
  LoadBalancerConfig,
  LoadBalancerStatus,
  MachineSet,
  MachineSetConfigStatus,
  MachineSetDestroyStatus,
  MachineSetNode,
  MachineSetStatus,
  NodeForceDestroyRequest,
  OngoingTask,
  RotateKubernetesCA,
  RotateTalosCA,
  SecretRotation,
  ClusterMachineConfig,
  ClusterMachineConfigPatch,
  ClusterMachineConfigStatus,
  ConfigPatch,
  MachineConfigDiff,
  MachineConfigExtractionStatus,
  MachineConfigGenOption,
  MachinePendingUpdate,
  MaintenanceConfigStatus,
  RedactedClusterMachineConfig,
  ClusterKubernetesManifestsStatus,
  ClusterKubernetesNode,
  ClusterWorkloadProxyStatus,
  ExposedService,
  ImagePullRequest,
  ImagePullStatus,
  Kubeconfig,
  KubernetesHealthCheck,
  KubernetesHealthCheckStatus,
  KubernetesManifestGroup,
  KubernetesNodeAuditResult,
  KubernetesResource,
  KubernetesStatus,
  KubernetesUpgradeManifestStatus,
  KubernetesUpgradeStatus,
  KubernetesUsage,
  KubernetesVersion,
  Config,
  ConnectionParam,
  DefaultJoinToken,
  GRPCTunnelConfig,
  JoinRefusal,
  JoinToken,
  JoinTokenStatus,
  JoinTokenUsage,
  Link,
  LinkStatus,
  MachineJoinConfig,
  NodeUniqueToken,
  NodeUniqueTokenStatus,
  PendingMachine,
  PendingMachineStatus,
  ProviderJoinConfig,
  SiderolinkAPIConfig,
  InfraMachine,
  InfraMachineBMCConfig,
  InfraMachineConfig,
  InfraMachineRegistration,
  InfraMachineStatus,
  Machine,
  MachineClass,
  MachineInstallDiskConfig,
  MachineInstallDiskStatus,
  MachineLabel,
  MachineStatus,
  MachineStatusLabel,
  MachineStatusLink,
  MachineStatusMetric,
  MachineStatusSnapshot,
  MachineUpgradeStatus,
  CloudPlatformConfig,
  ImageFactoryAuth,
  InstallationMedia,
  InstallationMediaConfig,
  MetalPlatformConfig,
  SBCConfig,
  BMCConfig,
  ClusterMachineRequestStatus,
  ConfigPatchRequest,
  InfraProvider,
  InfraProviderCombinedStatus,
  InfraProviderHealthStatus,
  InfraProviderStatus,
  MachineRequest,
  MachineRequestSet,
  MachineRequestSetStatus,
  MachineRequestStatus,
  AdvertisedEndpoint,
  BackendStatus,
  CertRefreshTick,
  Controller,
  ControllerWait,
  DBVersion,
  FeaturesConfig,
  LabelsCompletion,
  Namespace,
  Notification,
  Quirk,
  ResourceDefinition,
  Support,
  SysVersion,
  ClusterMachineTalosVersion,
  ExtensionsConfiguration,
  KernelArg,
  KernelArgsStatus,
  MachineExtension,
  MachineExtensionsStatus,
  SchematicConfiguration,
  TalosConfig,
  TalosExtension,
  TalosSession,
  TalosSessionStatus,
  TalosUpgradeStatus,
  TalosVersion,
  UpgradeRollout,
  ...MIRRORED,
];
