package files

import (
	"bufio"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

type owner struct{ uid, gid int }

func ownerOf(info fs.FileInfo) owner {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return owner{-1, -1} // nobody whom the host trusts
	}
	return owner{int(s.Uid), int(s.Gid)}
}

// trusted users may change what they like: root, and the user of this process.
func trusted(uid int) bool { return uid == 0 || uid == os.Geteuid() }

const everyone = "every user"

// writers names who else may write, "" when nobody may.
func writers(path string, info fs.FileInfo) string {
	switch {
	case info.Mode().Perm()&0o002 != 0:
		return everyone
	case info.Mode().Perm()&0o020 != 0 && (!ownGroup(ownerOf(info)) || hasACL(path)):
		return groupName(ownerOf(info).gid)
	}
	return ""
}

// readers names who else may read, "" when nobody may. A group that root gave the
// file to so that this process can read it is none: it is how Kubernetes (fsGroup)
// and packages of certificates (ssl-cert) share a secret with a service.
func readers(path string, info fs.FileInfo) string {
	switch o := ownerOf(info); {
	case info.Mode().Perm()&0o004 != 0:
		return everyone
	case info.Mode().Perm()&0o040 == 0:
		return ""
	case hasACL(path):
		return groupName(o.gid)
	case ownGroup(o), o.uid == 0 && memberOf(o.gid):
		return ""
	default:
		return groupName(o.gid)
	}
}

func memberOf(gid int) bool {
	groups, err := os.Getgroups()
	return gid == os.Getegid() || err == nil && slices.Contains(groups, gid)
}

// ownGroup reports whether only trusted users are in a file's group: it is root's,
// or the private group of the file's owner or of this process's user.
func ownGroup(o owner) bool {
	return o.gid == 0 || privateGroup(o.gid, o.uid) || privateGroup(o.gid, os.Geteuid())
}

// privateGroup reports whether a group is its user's alone: it bears the user's name
// and nobody else is in it. A user without an account, as in containers, has the
// group of the same number when no account knows that either.
func privateGroup(gid, uid int) bool {
	if !trusted(uid) {
		return false
	}
	g, gerr := user.LookupGroupId(strconv.Itoa(gid))
	u, uerr := user.LookupId(strconv.Itoa(uid))
	name := ""
	switch {
	case uerr != nil && gerr != nil && gid == uid:
	case uerr == nil && gerr == nil && g.Name == u.Username:
		name = u.Username
	default:
		return false
	}
	return !others("/etc/passwd", func(field []string) bool {
		return len(field) > 3 && field[3] == strconv.Itoa(gid) && field[0] != name
	}) && !others("/etc/group", func(field []string) bool {
		return len(field) > 3 && field[2] == strconv.Itoa(gid) && strings.Trim(strings.ReplaceAll(","+field[3]+",", ","+name+",", ""), ",") != ""
	})
}

// others looks for a line of an account file. A file that cannot be read counts as
// one that has it: it cannot be told who is in the group.
func others(file string, has func(field []string) bool) bool {
	f, err := os.Open(file)
	if os.IsNotExist(err) {
		return false
	}
	if err != nil {
		return true
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if has(strings.Split(lines.Text(), ":")) {
			return true
		}
	}
	return lines.Err() != nil
}

func userName(uid int) string {
	if u, err := user.LookupId(strconv.Itoa(uid)); err == nil {
		return fmt.Sprintf("uid %d (%s)", uid, u.Username)
	}
	return fmt.Sprintf("uid %d", uid)
}

func groupName(gid int) string {
	if g, err := user.LookupGroupId(strconv.Itoa(gid)); err == nil {
		return fmt.Sprintf("group %d (%s)", gid, g.Name)
	}
	return fmt.Sprintf("group %d", gid)
}

// loginOf is a user as chown takes it.
func loginOf(uid int) string {
	if u, err := user.LookupId(strconv.Itoa(uid)); err == nil {
		return u.Username
	}
	return strconv.Itoa(uid)
}
