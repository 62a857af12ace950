package account

import (
	"encoding/json"
	"fmt"

	"github.com/authzhost/authz/host/service/fault"
	"github.com/authzhost/authz/sdk/authz"
)

// Log is the account log, never pruned. A record's id is the instant in thirteen
// digits, then the entry's id, so that ids are in the log's order.
var Log = Collection[authz.AuditEntry]{Name: "log"}

// LogID is where the entry of an instant and an id lies in Log.
func LogID(at int64, id string) string { return fmt.Sprintf("%013d-%s", at, id) }

// Audit adds an entry to the org's account log in the same commit. detail must
// hold no secret.
func (tx *Tx) Audit(org, actor, action, target string, detail any) {
	entry := authz.AuditEntry{ID: NewID(tx.ctx), At: tx.store.Now(tx.ctx), Actor: actor, Action: action, Target: target}
	if detail != nil {
		raw, err := authz.Marshal(detail)
		if err != nil {
			tx.err = fault.Internal(err)
			return
		}
		entry.Detail = json.RawMessage(raw)
	}
	Log.Put(tx, org, LogID(entry.At, entry.ID), entry, 0)
}
