package directory

import (
	"errors"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
	sdk "github.com/authzhost/authz/sdk/directory"
	"github.com/authzhost/authz/sdk/storage"
)

// Report is what a run read and did, or would do.
type Report struct {
	Directory     string `json:"directory"`
	Application   string `json:"application"`
	Source        string `json:"source"`
	DryRun        bool   `json:"dryRun"`
	Authoritative bool   `json:"authoritative"`
	Incremental   bool   `json:"incremental"` // only changes were read
	StartedAt     int64  `json:"startedAt"`   // epoch milliseconds
	EndedAt       int64  `json:"endedAt"`
	Entries       int    `json:"entries"`
	People        int    `json:"people"` // that the reading told
	Groups        int    `json:"groups"`

	Reading sdk.Some[string] `json:"reading"` // warnings of the reading; the plan has the import's
	Plan    sdk.Plan         `json:"plan"`
	Audit   *sdk.Audit       `json:"audit,omitempty"`   // nil of a dry run
	Applied *sdk.Progress    `json:"applied,omitempty"` // nil when nothing was begun to be written
}

// Result is what became of a run.
type Result string

// The results.
const (
	Succeeded  Result = "succeeded"
	Refused    Result = "refused" // by the guard, or by another writer's
	Failed     Result = "failed"
	Cancelled  Result = "cancelled"
	Skipped    Result = "skipped"      // another host ran it
	NotOrgRoot Result = "not_org_root" // the application owns no people
)

// Results lists every result.
func Results() []Result { return []Result{Succeeded, Refused, Failed, Cancelled, Skipped, NotOrgRoot} }

// Cause says why a run failed, in a word that holds nothing of what was read.
type Cause string

// The causes.
const (
	CauseLate        Cause = "late"        // it was not read or applied in its time
	CauseUnavailable Cause = "unavailable" // the importer, what it reads or storage did not answer
	CauseInvalid     Cause = "invalid"     // what was read cannot be taken as it is
	CauseOther       Cause = "other"
)

func causeOf(err error) Cause {
	switch {
	case errors.Is(err, errLate):
		return CauseLate
	case authz.CodeOf(err) == authz.CodeValidation, authz.CodeOf(err) == authz.CodeGraphCycle:
		return CauseInvalid
	case errors.As(err, new(*authz.UnavailableError)), storage.CodeOf(err) == storage.CodeUnavailable:
		return CauseUnavailable
	}
	return CauseOther
}

// Outcome is what is kept of a run.
type Outcome struct {
	Result        Result     `json:"result"`
	StartedAt     int64      `json:"startedAt"` // epoch milliseconds
	EndedAt       int64      `json:"endedAt"`
	Host          string     `json:"host,omitempty"`
	Scheduled     bool       `json:"scheduled"`
	Authoritative bool       `json:"authoritative"`
	Incremental   bool       `json:"incremental"`
	Error         string     `json:"error,omitempty"`
	Code          authz.Code `json:"code,omitempty"`  // of the error
	Cause         Cause      `json:"cause,omitempty"` // of a failure

	Entries  int    `json:"entries"`
	People   int    `json:"people"`
	Groups   int    `json:"groups"`
	Warnings int    `json:"warnings"`
	Created  int    `json:"created"` // people
	Lost     int    `json:"lost"`    // people who became inactive
	AuditID  string `json:"auditId,omitempty"`
	Commits  int    `json:"commits,omitempty"`  // that stand
	Failures int    `json:"failures,omitempty"` // attempts at a commit that came to nothing
}

// maxError bounds what is kept of an error's text, in characters.
const maxError = 1000

// outcome tells what became of the run.
func (r *run) outcome(err error) *Outcome {
	p := &r.report.Plan
	o := &Outcome{
		Result: r.result(err), StartedAt: r.started.UnixMilli(), EndedAt: r.d.o.Clock().UnixMilli(), Host: r.d.o.Host, Scheduled: !r.due.IsZero(),
		Authoritative: r.report.Authoritative, Incremental: r.report.Incremental,
		Entries: r.report.Entries, People: r.report.People, Groups: r.report.Groups,
		Warnings: r.report.Reading.Count + p.Warnings.Count, Created: p.CreatedPeople.Count, Lost: p.DeactivatedPeople.Count,
	}
	if err != nil {
		o.Error, o.Code = spell.EchoN(err.Error(), maxError), authz.CodeOf(err)
	}
	if o.Result == Failed {
		o.Cause = causeOf(err)
	}
	if a := r.report.Audit; a != nil {
		o.AuditID = a.Import
	}
	if p := r.report.Applied; p != nil {
		o.Commits, o.Failures = p.Commits, p.Failures
	}
	return o
}

func (r *run) result(err error) Result {
	var busy *busyError
	switch {
	case err == nil:
		return Succeeded
	case errors.Is(err, errSkipped), errors.As(err, &busy):
		return Skipped
	case authz.CodeOf(err) == authz.CodeNotOrgRoot:
		return NotOrgRoot
	case errors.Is(err, errCancelled):
		return Cancelled
	case authz.CodeOf(err) == authz.CodeConflict:
		return Refused
	}
	return Failed
}

// ended is the last of a run: counted and told.
func (d *Directory) ended(r *run, err error) {
	o := r.outcome(err)
	d.mu.Lock()
	d.current = nil
	if !r.request.DryRun {
		d.outcomes[o.Result]++
	}
	d.mu.Unlock()
	line := []any{"result", o.Result, "dryRun", r.request.DryRun, "entries", o.Entries, "people", o.People, "groups", o.Groups, "warnings", o.Warnings,
		"created", o.Created, "deactivated", o.Lost, "ms", o.EndedAt - o.StartedAt}
	switch o.Result {
	case Succeeded:
		d.log.Info("the directory was read", line...)
	case Skipped:
		d.log.Debug("a run was left to another host")
	default:
		d.log.Warn("a run of the directory did not succeed", append(line, "error", o.Error)...)
	}
}

func some(list []string) (s sdk.Some[string]) {
	for _, v := range list {
		s.Add(v)
	}
	return s
}
