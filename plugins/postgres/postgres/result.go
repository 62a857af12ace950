package postgres

import (
	"encoding/json"
	"errors"
	"strconv"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// errReplayed ends the transaction of a commit that was applied before.
var errReplayed = errors.New("the commit was applied before")

// recordedResult is the result column of a commit: the results that say something,
// and how many there are. UpTo stands last, so that a statement can append it.
type recordedResult struct {
	Count   int              `json:"count"`
	Results []recordedChange `json:"results"`
	UpTo    int64            `json:"upTo"`
}

type recordedChange struct {
	Change  int            `json:"change"`
	Grant   *authz.Grant   `json:"grant,omitempty"`
	Revoke  *authz.Revoke  `json:"revoke,omitempty"`
	Request *authz.Request `json:"request,omitempty"`
	Version int64          `json:"version,omitempty"`
}

func encodeResult(r storage.CommitResult) (string, error) {
	out := recordedResult{Count: len(r.Results), Results: []recordedChange{}, UpTo: r.UpTo}
	for i, c := range r.Results {
		if c != (storage.ChangeResult{}) {
			out.Results = append(out.Results, recordedChange{i, c.Grant, c.Revoke, c.Request, c.Version})
		}
	}
	if len(out.Results) == 0 { // most commits
		return `{"count":` + strconv.Itoa(out.Count) + `,"results":[],"upTo":` + strconv.FormatInt(out.UpTo, 10) + `}`, nil
	}
	b, err := authz.Marshal(out)
	return string(b), err
}

func decodeResult(column []byte) (storage.CommitResult, error) {
	var in recordedResult
	if err := json.Unmarshal(column, &in); err != nil {
		return storage.CommitResult{}, err
	}
	r := storage.CommitResult{Results: make([]storage.ChangeResult, in.Count), UpTo: in.UpTo}
	for _, c := range in.Results {
		if c.Change < 0 || c.Change >= in.Count {
			return storage.CommitResult{}, errors.New("the recorded result names a change that there is not")
		}
		r.Results[c.Change] = storage.ChangeResult{Grant: c.Grant, Revoke: c.Revoke, Request: c.Request, Version: c.Version}
	}
	return r, nil
}
