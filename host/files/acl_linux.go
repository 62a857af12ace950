package files

import "golang.org/x/sys/unix"

// hasACL reports whether a file has an access control list, under which the mode's
// bits of the group tell what users that are named in it may do.
func hasACL(path string) bool {
	n, err := unix.Getxattr(path, "system.posix_acl_access", nil)
	return err == nil && n > 0
}
