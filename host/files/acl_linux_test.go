package files_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/authzhost/authz/host/files"
	"github.com/authzhost/authz/internal/otheruser"
)

// TestAnAccessControlListCounts: under it the bits of the group tell what users may
// do that are named in it, here in a group of root's alone.
func TestAnAccessControlListCounts(t *testing.T) {
	otheruser.Need(t)
	file := put(t, otheruser.Dir(t)+"/f", 0o600)
	type entry struct {
		Tag, Perm uint16
		ID        uint32
	}
	const none = 1<<32 - 1
	var list bytes.Buffer
	for _, part := range []any{uint32(2), []entry{ // user::rw user:65534:rw group::- mask::rw other::-
		{1, 6, none}, {2, 6, otheruser.UID}, {4, 0, none}, {0x10, 6, none}, {0x20, 0, none},
	}} {
		if err := binary.Write(&list, binary.LittleEndian, part); err != nil {
			t.Fatal(err)
		}
	}
	if err := unix.Setxattr(file, "system.posix_acl_access", list.Bytes(), 0); errors.Is(err, unix.ENOTSUP) {
		t.Skip("the file system has no access control lists")
	} else if err != nil {
		t.Fatal(err)
	}
	otheruser.Do(t, "cat $1; echo >>$1", file)
	expect(t, files.Judge(file, files.Trusted), "can write it", "chmod g-w ")
}
