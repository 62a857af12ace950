package relational

import (
	"errors"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// resultColumn is how a commit's result is kept. Most changes return nothing, so
// only those that do are named.
type resultColumn struct {
	Changes int            `json:"changes"`
	Results []changeColumn `json:"results,omitempty"`
	UpTo    int64          `json:"upTo"`

	// Identity is that of the event UpTo, absent of commits before version 3.
	Identity string `json:"identity,omitempty"`

	// Count, and Change of a changeColumn, are what the PostgreSQL driver's first
	// rows called Changes and At. They are read only.
	Count int `json:"count,omitempty"`
}

type changeColumn struct {
	At      int            `json:"at"`
	Grant   *authz.Grant   `json:"grant,omitempty"`
	Revoke  *authz.Revoke  `json:"revoke,omitempty"`
	Request *authz.Request `json:"request,omitempty"`
	Version int64          `json:"version,omitempty"`
	Change  int            `json:"change,omitempty"`
}

// EncodeResult is the result column of a commit. Whether it was replayed is no
// part of it. UpTo is always there, and stands last unless it has an identity, so
// that a statement can put in the position that it takes.
func EncodeResult(r storage.CommitResult) (string, error) {
	column := resultColumn{Changes: len(r.Results), UpTo: r.UpTo.Seq, Identity: r.UpTo.Identity}
	for i, c := range r.Results {
		if c != (storage.ChangeResult{}) {
			column.Results = append(column.Results, changeColumn{At: i, Grant: c.Grant, Revoke: c.Revoke, Request: c.Request, Version: c.Version})
		}
	}
	return encode(column)
}

// DecodeResult reads a result column. Its errors are not the seam's: only the
// caller knows what they say of the commit.
func DecodeResult(column []byte) (storage.CommitResult, error) {
	var kept resultColumn
	if err := decode(column, &kept); err != nil {
		return storage.CommitResult{}, err
	}
	r := storage.CommitResult{Results: make([]storage.ChangeResult, kept.Changes+kept.Count),
		UpTo: authz.Position{Seq: kept.UpTo, Identity: kept.Identity}}
	for _, c := range kept.Results {
		at := c.At + c.Change
		if at < 0 || at >= len(r.Results) {
			return storage.CommitResult{}, errors.New("the recorded result names a change that there is not")
		}
		r.Results[at] = storage.ChangeResult{Grant: c.Grant, Revoke: c.Revoke, Request: c.Request, Version: c.Version}
	}
	return r, nil
}
