package kv_test

import (
	"testing"

	"github.com/authzhost/authz/sdk/storage"
)

func TestEveryRequiredHeadIsJudged(t *testing.T) {
	_, s := countingStore(t)
	for _, heads := range [][]storage.Requirement{
		{storage.RequireHead{Seq: 5}, storage.RequireHead{Seq: 0}},
		{storage.RequireHead{Seq: 0}, storage.RequireHead{Seq: 5}},
	} {
		if _, err := s.Commit(t.Context(), storage.Commit{ID: "c", Requires: heads}); storage.CodeOf(err) != storage.CodeConflict {
			t.Errorf("%v over head 0: %v", heads, err)
		}
	}
}
