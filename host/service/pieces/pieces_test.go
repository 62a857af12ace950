package pieces

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/authzhost/authz/host/service/account"
	"github.com/authzhost/authz/plugins/memory/memory"
)

func store(t *testing.T) *account.Store {
	t.Helper()
	records, err := memory.New(memory.Options{}).Open(t.Context(), account.Partition)
	if err != nil {
		t.Fatal(err)
	}
	return account.New(records, func() int64 { return time.Now().UnixMilli() })
}

func TestAValueComesBackByteForByte(t *testing.T) {
	s := store(t)
	for name, size := range map[string]int{"empty": 0, "one": 1, "full": pieceBytes, "over": pieceBytes + 1, "large": 8 << 20} {
		data := make([]byte, size)
		for i := range data {
			data[i] = byte(i * 31)
		}
		tx := s.Begin(t.Context())
		ref := Put(tx, "acme", name, data)
		if size > 0 {
			if err := tx.Commit(); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		got, err := Get(t.Context(), s, "acme", ref)
		if err != nil || !bytes.Equal(got, data) {
			t.Errorf("%s: %d bytes came back as %d, %v", name, size, len(got), err)
		}
		if _, err := Get(t.Context(), s, "other", ref); size > 0 && err == nil {
			t.Errorf("%s: another org read it", name)
		}
	}
}

func TestARefusedCommitLeavesNoPiece(t *testing.T) {
	s := store(t)
	ctx := context.Background()
	tx := s.Begin(ctx)
	first := Put(tx, "acme", "taken", []byte("first"))
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	tx = s.Begin(ctx)
	fresh := Put(tx, "acme", "fresh", bytes.Repeat([]byte{1}, 3*pieceBytes))
	Put(tx, "acme", "taken", []byte("other"))
	if err := tx.Commit(); err != error(account.ErrMoved) {
		t.Fatalf("a value was written over another: %v", err)
	}
	if _, err := Get(ctx, s, "acme", fresh); err == nil {
		t.Error("a refused commit left a value")
	}
	if got, err := Get(ctx, s, "acme", first); err != nil || string(got) != "first" {
		t.Errorf("the value that was there: %q, %v", got, err)
	}
}
