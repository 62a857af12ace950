package hosted

import (
	"strings"

	"github.com/authzhost/authz/host/service/fault"
	"github.com/authzhost/authz/host/service/orgroot"
	"github.com/authzhost/authz/internal/audited"
	"github.com/authzhost/authz/internal/words"
	"github.com/authzhost/authz/sdk/authz"
)

// auditFilter is the query of every audit list (spec: hosted-api §15).
type auditFilter struct {
	Actor  string `query:"actor,omitempty"`
	Action string `query:"action,omitempty"`
	Target string `query:"target,omitempty"`
	From   *int64 `query:"from,omitempty"`
	To     *int64 `query:"to,omitempty"`
	Mode   string `query:"mode,omitempty" enum:"recent,export"`
}

// logFilter is that of the logs themselves.
type logFilter struct {
	auditFilter
	Subject string `query:"subject,omitempty"`
	Details string `query:"details,omitempty" enum:"short,whole"`
}

// check wants a subject as grants name it, and an action or a family of them.
func (f logFilter) check() error {
	if f.Subject != "" {
		if err := words.CheckSubject(f.Subject); err != nil {
			return fault.Parameter("subject", "%s", err)
		}
	}
	if _, family := audited.Family(f.Action); !family && strings.Contains(f.Action, "*") {
		return fault.Parameter("action", "must be an action, such as grant.create, or a family of them, such as grant.*")
	}
	return nil
}

func (f logFilter) about() *audited.About {
	if about, ok := audited.Of(f.Subject); ok {
		return &about
	}
	return nil
}

// detailLimit leaves out large details: a write of many rows lists them all.
func (f logFilter) detailLimit() *int64 {
	if f.Details == "short" || f.Details == "" && f.Mode != "export" {
		return new(int64(maxShortDetail))
	}
	return nil
}

type listAudit struct {
	inOrg
	logFilter
	Paging
}

// Check is that of the filter.
func (in listAudit) Check() error { return in.check() }

// maxShortDetail is the longest detail, in bytes, that a list of entries shows.
const maxShortDetail = 1 << 10

type auditEvents struct {
	Events     []authz.AuditEntry `json:"events"`
	NextCursor *string            `json:"nextCursor"`
}

func (c *Call) events(entries []authz.AuditEntry, next string) (out auditEvents, err error) {
	out.Events = append([]authz.AuditEntry{}, entries...)
	out.NextCursor, err = c.next(next)
	return out, err
}

type oneEntry struct {
	objectOf
	At int64 `query:"at"`
}

type auditAnswer struct {
	Event authz.AuditEntry `json:"event"`
}

type listAppAudit struct {
	appOf
	logFilter
	Paging
}

// Check is that of the filter.
func (in listAppAudit) Check() error { return in.check() }

type oneAppEntry struct {
	appOf
	ID string `path:"id"`
	At int64  `query:"at"`
}

func (f logFilter) root() orgroot.AuditFilter {
	return orgroot.AuditFilter{Target: present(f.Target), Actor: present(f.Actor), Action: present(f.Action), About: f.about(), From: f.From, To: f.To, Export: f.Mode == "export", DetailLimit: f.detailLimit()}
}
