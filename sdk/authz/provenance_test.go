package authz_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/sdk/authz"
)

func TestParseProvenance(t *testing.T) {
	cases := map[string]struct {
		raw  string
		want authz.Provenance
		err  string
	}{
		"nothing":                          {raw: ``, err: "provenance is required: "},
		"null":                             {raw: `null`, err: "provenance is required: "},
		"what is no object":                {raw: `"admin"`, err: "provenance is required: "},
		"an array":                         {raw: `[{"kind":"admin"}]`, err: "provenance is required: "},
		"broken JSON":                      {raw: `{"kind":`, err: "provenance is required: "},
		"no kind":                          {raw: `{}`, err: "provenance.kind is required"},
		"a kind that is null":              {raw: `{"kind":null}`, err: "provenance.kind is required"},
		"a kind that is a number":          {raw: `{"kind":1}`, err: "provenance.kind is required"},
		"an unknown kind":                  {raw: `{"kind":"root"}`, err: `unknown provenance kind "root"`},
		"admin without its actor":          {raw: `{"kind":"admin"}`, err: `provenance.actorUserId is required for kind "admin"`},
		"admin with an empty actor":        {raw: `{"kind":"admin","actorUserId":""}`, err: `provenance.actorUserId is required for kind "admin"`},
		"admin with a number for an actor": {raw: `{"kind":"admin","actorUserId":7}`, err: `provenance.actorUserId is required for kind "admin"`},
		"request without its id":           {raw: `{"kind":"request"}`, err: `provenance.requestId is required for kind "request"`},
		"request with a bad approver":      {raw: `{"kind":"request","requestId":"q","approvedBy":{}}`, err: "provenance.approvedBy must be"},
		"dissolution needs both":           {raw: `{"kind":"dissolution","virtualParentId":"v"}`, err: `provenance.originalGrantId is required for kind "dissolution"`},
		"merge without a source":           {raw: `{"kind":"merge"}`, err: `provenance.source is required for kind "merge"`},
		"import without a source":          {raw: `{"kind":"import"}`, err: `provenance.source is required for kind "import"`},
		"reconciler without its id":        {raw: `{"kind":"reconciler"}`, err: `provenance.integrationId is required for kind "reconciler"`},
		"system with a bad note":           {raw: `{"kind":"system","note":1}`, err: "provenance.note must be"},
		"system alone":                     {raw: ` {"kind":"system"}`, want: authz.Provenance{Kind: authz.ProvenanceSystem}},
		"an optional member that is null":  {raw: `{"kind":"system","note":null}`, want: authz.Provenance{Kind: authz.ProvenanceSystem}},
		"only the members of the kind are kept": {
			raw:  `{"kind":"admin","actorUserId":"a","source":"s","note":"n","via":"mesh","__proto__":{"x":1}}`,
			want: authz.AdminProvenance("a")},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := authz.ParseProvenance(json.RawMessage(c.raw))
			if c.err != "" {
				if authz.CodeOf(err) != authz.CodeValidation || !strings.HasPrefix(err.Error(), c.err) {
					t.Fatalf("error = %v, want validation %q", err, c.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestNormalizeRefusesProvenanceOfNoKind(t *testing.T) {
	for p, want := range map[authz.Provenance]string{
		{}:                        "provenance is required",
		{ActorUserID: "a"}:        "provenance.kind is required",
		{Kind: "root"}:            `unknown provenance kind "root"`,
		{Kind: "reconciler"}:      "provenance.integrationId is required",
		{Kind: "dissolution"}:     "provenance.virtualParentId is required",
		{Kind: "merge", Via: "x"}: "provenance.source is required",
	} {
		if _, err := p.Normalize(); authz.CodeOf(err) != authz.CodeValidation || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%+v: %v", p, err)
		}
	}
}

func TestWhomTheAuditLogNames(t *testing.T) {
	long := strings.Repeat("é", 203)
	cases := map[string]authz.Provenance{
		"a":               authz.AdminProvenance("a"),
		"boss":            {Kind: authz.ProvenanceRequest, RequestID: "q", ApprovedBy: "boss"},
		"auto":            {Kind: authz.ProvenanceRequest, RequestID: "q"},
		"system":          {Kind: authz.ProvenanceDissolution, VirtualParentID: "v", OriginalGrantID: "g"},
		"merge:hr":        {Kind: authz.ProvenanceMerge, Source: "hr"},
		`import:a\x0ab`:   authz.ImportProvenance("a\nb"),
		"reconciler:sync": {Kind: authz.ProvenanceReconciler, IntegrationID: "sync"},
		"import:" + strings.Repeat("é", 200) + "…(+3 more)": authz.ImportProvenance(long),
	}
	for want, p := range cases {
		if got := p.Actor(); got != want {
			t.Errorf("%+v: %q, want %q", p, got, want)
		}
	}
	if got := (authz.Provenance{Kind: authz.ProvenanceSystem, Note: "n"}).Actor(); got != "system" {
		t.Errorf("system: %q", got)
	}
}
