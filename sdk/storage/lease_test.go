package storage_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/authzhost/authz/sdk/storage"
)

func TestALeaseThatNobodyRenewsIsStaleAfterOneLength(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l storage.Leases
		const length = 10 * time.Second
		is := func(want bool, key string, found storage.Lease) {
			t.Helper()
			if got := l.Stale(key, found, length); got != want {
				t.Errorf("%s %+v: stale %v", key, found, got)
			}
		}
		far := storage.Lease{Holder: "a", Fence: 7, ExpiresAt: 1 << 50}
		is(false, "k", far)
		time.Sleep(length - 1)
		is(false, "k", far)
		is(false, "other", far)
		time.Sleep(time.Nanosecond)
		is(true, "k", far)
		is(false, "other", far)

		for _, renewed := range []storage.Lease{{Holder: "a", Fence: 7, ExpiresAt: 1<<50 + 1}, {Holder: "a", Fence: 8, ExpiresAt: 1<<50 + 1}, {Holder: "b", Fence: 8, ExpiresAt: 1<<50 + 1}} {
			is(false, "k", renewed)
			time.Sleep(length)
			is(true, "k", renewed)
		}
		l.Forget("k")
		is(false, "k", far)

		time.Sleep(length)
		for i := range 10_000 { // what is remembered is bounded
			l.Stale(fmt.Sprint("many", i), far, length)
		}
		is(false, "k", far)
	})
}
