package metrics_test

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/authzhost/authz/sdk/metrics"
)

const day = 86_400_000

func TestWordsOfTheSafeguard(t *testing.T) {
	cases := map[string]struct {
		usage   metrics.Usage
		options metrics.SafeguardOptions
		want    metrics.Safeguard
		detail  []string
	}{
		"a sole grant warns": {
			metrics.Usage{Matched: 40, SoleMatch: 12, WindowEnd: 30 * day}, metrics.SafeguardOptions{},
			metrics.Safeguard{Level: metrics.SafeguardWarning, Matched: 40, SoleMatch: 12, Days: 30,
				Headline: "This grant was the only thing allowing 12 checks in the last 30 days."},
			[]string{"would have denied them", "took part in 40 checks in total"}},
		"a sole role warns, numbers are plain digits": {
			metrics.Usage{Matched: 1234567, SoleMatch: 1234567, WindowEnd: day}, metrics.SafeguardOptions{Kind: metrics.KindRole},
			metrics.Safeguard{Level: metrics.SafeguardWarning, Matched: 1234567, SoleMatch: 1234567, Days: 1,
				Headline: "This role was the only thing allowing 1234567 checks in the last day."},
			[]string{"1234567 checks in total"}},
		"a revoke's warning points the other way": {
			metrics.Usage{Matched: 5, SoleMatch: 5, WindowEnd: 2 * day}, metrics.SafeguardOptions{Kind: metrics.KindRevoke},
			metrics.Safeguard{Level: metrics.SafeguardWarning, Matched: 5, SoleMatch: 5, Days: 2,
				Headline: "This revoke suppressed 5 checks in the last 2 days. Deleting it widens access."},
			[]string{"All of them would have been allowed without it"}},
		"a shadowed row is no warning": {
			metrics.Usage{Matched: 9, WindowEnd: day}, metrics.SafeguardOptions{},
			metrics.Safeguard{Level: metrics.SafeguardContext, Matched: 9, Days: 1,
				Headline: "This grant matched 9 checks in the last day, but was never the only thing allowing them."},
			[]string{"nother grant covered each", "no decision"}},
		"below the threshold the sole checks are told": {
			metrics.Usage{Matched: 9, SoleMatch: 2, WindowEnd: day}, metrics.SafeguardOptions{WarnAtSoleMatch: 3},
			metrics.Safeguard{Level: metrics.SafeguardContext, Matched: 9, SoleMatch: 2, Days: 1,
				Headline: "This grant matched 9 checks in the last day, and was the only thing allowing 2 of them."},
			[]string{"denied those 2"}},
		"below the threshold a revoke still suppressed": {
			metrics.Usage{Matched: 2, SoleMatch: 2, WindowEnd: day}, metrics.SafeguardOptions{Kind: metrics.KindRevoke, WarnAtSoleMatch: 3},
			metrics.Safeguard{Level: metrics.SafeguardContext, Matched: 2, SoleMatch: 2, Days: 1,
				Headline: "This revoke suppressed 2 checks in the last day."},
			[]string{"widens access"}},
		"no record is no evidence": {
			metrics.Usage{WindowEnd: 90 * day}, metrics.SafeguardOptions{},
			metrics.Safeguard{Level: metrics.SafeguardNone, Days: 90, Headline: "No recorded use in the last 90 days."},
			[]string{"not evidence", "usage lags", "sampled and lossy", "break-glass access"}},
		"a threshold below 1 counts as 1 (pm0059)": {
			metrics.Usage{WindowEnd: day}, metrics.SafeguardOptions{WarnAtSoleMatch: -4},
			metrics.Safeguard{Level: metrics.SafeguardNone, Days: 1, Headline: "No recorded use in the last day."}, nil},
		"a threshold that is not finite counts as 1": {
			metrics.Usage{Matched: 1, SoleMatch: 1}, metrics.SafeguardOptions{WarnAtSoleMatch: math.Inf(1)},
			metrics.Safeguard{Level: metrics.SafeguardWarning, Matched: 1, SoleMatch: 1, Days: 1,
				Headline: "This grant was the only thing allowing 1 checks in the last day."}, nil},
		"days round half up": {
			metrics.Usage{WindowEnd: day + day/2}, metrics.SafeguardOptions{},
			metrics.Safeguard{Level: metrics.SafeguardNone, Days: 2, Headline: "No recorded use in the last 2 days."}, nil},
		"a window that ends before it starts is a day": {
			metrics.Usage{WindowStart: 5 * day}, metrics.SafeguardOptions{},
			metrics.Safeguard{Level: metrics.SafeguardNone, Days: 1, Headline: "No recorded use in the last day."}, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := metrics.RevocationSafeguard(c.usage, c.options)
			detail := got.Detail
			got.Detail = ""
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			for _, part := range c.detail {
				if !strings.Contains(detail, part) {
					t.Errorf("detail %q does not say %q", detail, part)
				}
			}
		})
	}
}

func TestASafeguardNeverClaimsSafety(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kinds := []metrics.RowKind{"", metrics.KindGrant, metrics.KindRevoke, metrics.KindRole}
		u := metrics.Usage{Matched: rapid.Int64Range(0, 5).Draw(t, "matched"), WindowStart: rapid.Int64().Draw(t, "start"), WindowEnd: rapid.Int64().Draw(t, "end")}
		u.SoleMatch = rapid.Int64Range(0, u.Matched).Draw(t, "sole")
		o := metrics.SafeguardOptions{Kind: rapid.SampledFrom(kinds).Draw(t, "kind"), WarnAtSoleMatch: rapid.Float64().Draw(t, "warnAt")}
		s := metrics.RevocationSafeguard(u, o)
		if text := strings.ToLower(s.Headline + s.Detail); strings.Contains(text, "safe") || s.Headline == "" || s.Detail == "" {
			t.Fatalf("%q, %q", s.Headline, s.Detail)
		}
		if s.Days < 1 || u.SoleMatch == 0 && s.Level == metrics.SafeguardWarning || u.Matched == 0 && s.Level != metrics.SafeguardNone {
			t.Fatalf("%+v for %+v", s, u)
		}
	})
}
