package relational

import (
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// resultColumn is how a commit's result is kept. Most changes return nothing, so
// only those that do are named.
type resultColumn struct {
	Changes int            `json:"changes"`
	UpTo    int64          `json:"upTo,omitempty"`
	Results []changeColumn `json:"results,omitempty"`
}

type changeColumn struct {
	At      int            `json:"at"`
	Grant   *authz.Grant   `json:"grant,omitempty"`
	Revoke  *authz.Revoke  `json:"revoke,omitempty"`
	Request *authz.Request `json:"request,omitempty"`
	Version int64          `json:"version,omitempty"`
}

// EncodeResult is the result column of a commit. Whether it was replayed is no
// part of it.
func EncodeResult(r storage.CommitResult) (string, error) {
	column := resultColumn{Changes: len(r.Results), UpTo: r.UpTo}
	for i, c := range r.Results {
		if c != (storage.ChangeResult{}) {
			column.Results = append(column.Results, changeColumn{i, c.Grant, c.Revoke, c.Request, c.Version})
		}
	}
	return encode(column)
}

// DecodeResult reads a result column.
func DecodeResult(column []byte) (storage.CommitResult, error) {
	var kept resultColumn
	if err := decode(column, &kept); err != nil {
		return storage.CommitResult{}, err
	}
	r := storage.CommitResult{Results: make([]storage.ChangeResult, kept.Changes), UpTo: kept.UpTo}
	for _, c := range kept.Results {
		if c.At < 0 || c.At >= len(r.Results) {
			return storage.CommitResult{}, storage.Errorf(storage.CodeUnavailable, "the result of a commit is damaged")
		}
		r.Results[c.At] = storage.ChangeResult{Grant: c.Grant, Revoke: c.Revoke, Request: c.Request, Version: c.Version}
	}
	return r, nil
}
