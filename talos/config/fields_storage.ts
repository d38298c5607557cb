// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Field table: volumes, disks and file systems. `schema.ts` explains the notation.
 *
 * @module
 */

/** Types and their fields, in the order in which Talos prints them. */
export const STORAGE_FIELDS = `
ExistingVolumeConfig@11 apiVersion?:str kind:str name:str discovery?:VolumeDiscoverySpec
  mount?:ExistingMountSpec trim?:*TrimConfig@14 scrub?:*ScrubConfig@14
VolumeDiscoverySpec volumeSelector?:VolumeSelector
VolumeSelector match?:cel
ExistingMountSpec readOnly?:*bool disableAccessTime?:*bool@13 secure?:*bool@13
TrimConfig enabled?:*bool interval?:duration
ScrubConfig enabled?:*bool interval?:duration
ExternalVolumeConfig@13 apiVersion?:str kind:str name:str filesystemType:%Filesystem
  mount?:ExternalMountSpec
ExternalMountSpec readOnly?:*bool disableAccessTime?:*bool secure?:*bool
  virtiofs?:*VirtiofsMountSpec
VirtiofsMountSpec tag:str
FilesystemScrubConfig@14 apiVersion?:str kind:str interval?:duration
FilesystemTrimConfig@14 apiVersion?:str kind:str interval?:duration
RawVolumeConfig@11 apiVersion?:str kind:str name:str provisioning?:BlockProvisioningSpec
  encryption?:EncryptionSpec
BlockProvisioningSpec diskSelector?:DiskSelector grow?:*bool minSize?:byteSize maxSize?:size
DiskSelector match?:cel
EncryptionSpec provider:%EncryptionProvider keys:[BlockEncryptionKey] cipher?:str keySize?:uint
  blockSize?:uint options?:[str] allowDiscards?:*bool@14
BlockEncryptionKey slot:int static?:*BlockEncryptionKeyStatic nodeID?:*BlockEncryptionKeyNodeID
  kms?:*BlockEncryptionKeyKMS tpm?:*BlockEncryptionKeyTPM lockToState?:*bool@11
BlockEncryptionKeyStatic passphrase?:str
BlockEncryptionKeyNodeID
BlockEncryptionKeyKMS endpoint:str
BlockEncryptionKeyTPM options?:*EncryptionKeyTPMOptions@12 checkSecurebootStatusOnEnroll?:*bool
EncryptionKeyTPMOptions pcrs?:[int]
SwapVolumeConfig@11 apiVersion?:str kind:str name:str provisioning?:BlockProvisioningSpec
  encryption?:EncryptionSpec
UserVolumeConfig@10 apiVersion?:str kind:str name:str volumeType?:*%VolumeType@12
  provisioning?:BlockProvisioningSpec filesystem?:FilesystemSpec encryption?:EncryptionSpec
  mount?:UserMountSpec@13 trim?:*TrimConfig@14 scrub?:*ScrubConfig@14
FilesystemSpec type?:%Filesystem projectQuotaSupport?:*bool@11 xfs?:*XFSSpec@14
XFSSpec minAllocationGroupSize?:byteSize
UserMountSpec disableAccessTime?:*bool secure?:*bool
VolumeConfig@8 apiVersion?:str kind:str name:str provisioning?:BlockProvisioningSpec
  filesystem?:SystemVolumeFilesystemSpec@14 encryption?:EncryptionSpec@11 mount?:MountSpec@13
  trim?:*TrimConfig@14 scrub?:*ScrubConfig@14
SystemVolumeFilesystemSpec xfs?:*XFSSpec
MountSpec secure?:*bool disableAccessTime?:*bool@14
ZswapConfig@11 apiVersion?:str kind:str maxPoolPercent?:*int shrinkerEnabled?:*bool
LVMLogicalVolumeConfig@14 apiVersion?:str kind:str name:str type:%LvmVolumeType mirrors?:*uint32
  stripes?:*uint32 provisioning:LVMLogicalVolumeProvisioningSpec
LVMLogicalVolumeProvisioningSpec volumeGroup:str minSize?:byteSize maxSize?:size
LVMVolumeGroupConfig@14 apiVersion?:str kind:str name:str provisioning:ProvisioningSpec
ProvisioningSpec volumeSelector?:LVMVolumeSelectorSpec
LVMVolumeSelectorSpec match?:cel
RAIDArrayConfig@14 apiVersion?:str kind:str name:str level:%MdLevel metadata?:%MdMetadata
  provisioning:RAIDProvisioningSpec
RAIDProvisioningSpec volumeSelector:RAIDVolumeSelector
RAIDVolumeSelector match?:cel
`;
