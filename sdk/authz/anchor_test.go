package authz_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/authzhost/authz/sdk/authz"
)

// A log that only grew agrees with every anchor taken of it; one that was cut or hashed
// anew contradicts the first anchor that it lost, though its chain holds.
func TestAnchorsShowACutAndARewrittenLog(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before := rapid.IntRange(0, 2).Draw(t, "entries before the chain")
		log := make([]authz.AuditEntry, before)
		plain := make([]authz.AuditEntry, rapid.IntRange(1, 6).Draw(t, "entries"))
		for i := range plain {
			plain[i] = authz.AuditEntry{ID: string(rune('a' + i)), At: int64(i), Actor: "root"}
		}
		chained, err := authz.LinkHashChain(nil, plain)
		if err != nil {
			t.Fatal(err)
		}
		log = append(log, chained...)
		var anchors []authz.AuditAnchor
		for _, n := range rapid.SliceOfN(rapid.IntRange(1, len(plain)), 1, 4).Draw(t, "anchored") {
			anchors = append(anchors, authz.AuditAnchor{Log: "application/docs", Count: int64(n), Hash: chained[n-1].Hash})
		}
		if report, fault, err := authz.VerifyAnchored(listed(log), anchors); err != nil || !report.OK || fault != nil || report.Hashed != len(plain) {
			t.Fatalf("the log itself: %+v, %+v, %v", report, fault, err)
		}

		kept := rapid.IntRange(0, len(plain)).Draw(t, "kept")
		lost := int64(0)
		for _, a := range anchors {
			if a.Count > int64(kept) && (lost == 0 || a.Count < lost) {
				lost = a.Count
			}
		}
		report, fault, err := authz.VerifyAnchored(listed(log[:before+kept]), anchors)
		if err != nil || !report.OK || (fault != nil) != (lost > 0) || fault != nil && (!fault.Cut() || fault.Anchor.Count != lost || fault.Count != int64(kept)) {
			t.Fatalf("cut after %d: %+v, %+v, %v", kept, report, fault, err)
		}

		if kept == len(plain) {
			return
		}
		plain[kept].Actor = "eve"
		anew, err := authz.LinkHashChain(nil, plain)
		if err != nil {
			t.Fatal(err)
		}
		report, fault, err = authz.VerifyAnchored(listed(append(log[:before:before], anew...)), anchors)
		if err != nil || !report.OK || (fault != nil) != (lost > 0) || fault != nil && (fault.Cut() || fault.Anchor.Count != lost || fault.Hash != anew[lost-1].Hash) {
			t.Fatalf("anew from %d: %+v, %+v, %v", kept, report, fault, err)
		}
	})
}

func TestAnAnchorOfNoEntryIsAFault(t *testing.T) {
	if _, fault, err := authz.VerifyAnchored(listed(nil), []authz.AuditAnchor{{Count: 0, Hash: ""}}); err != nil || fault == nil {
		t.Errorf("%+v, %v", fault, err)
	}
}
