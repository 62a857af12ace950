package codegen_test

import (
	"encoding/json"
	"testing"

	"github.com/authzhost/authz/conformance/vectors"
	"github.com/authzhost/authz/verify/codegen"
	"github.com/google/go-cmp/cmp"
)

func TestVectorsCodegen(t *testing.T) {
	type vector struct {
		Document json.RawMessage `json:"document"`
		Prefix   string          `json:"prefix"`
		Text     string          `json:"text"`
	}
	vectors.Replay(t, "codegen.jsonl", nil, func(t *testing.T, c vector) {
		text, err := codegen.TypeScript(c.Document, codegen.TypeScriptOptions{Prefix: c.Prefix})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.Text, string(text)); diff != "" {
			t.Error(diff)
		}
	})
}
