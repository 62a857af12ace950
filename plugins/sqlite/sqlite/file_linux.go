package sqlite

import "syscall"

// networkFileSystems are the magic numbers of those whose locks or shared memory
// do not reach other machines.
var networkFileSystems = map[uint32]bool{
	0x6969:     true, // NFS
	0x517b:     true, // SMB
	0xff534d42: true, // CIFS
	0xfe534d42: true, // SMB2
	0x73757245: true, // Coda
	0x5346414f: true, // AFS
}

// onNetwork reports whether the directory is known to be on another machine.
func onNetwork(dir string) bool {
	var st syscall.Statfs_t
	return syscall.Statfs(dir, &st) == nil && networkFileSystems[uint32(st.Type)]
}
