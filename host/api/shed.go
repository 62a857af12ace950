package api

import (
	"errors"
	"fmt"

	"github.com/authzhost/authz/host/internal/admission"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// readers answer no list and read many rows all the same.
var readers = map[string]bool{
	"countGrants": true, "getGroupMembers": true, "getReportingEdges": true, "exportOrgSnapshot": true, "listWildcardDrift": true, "verifyAuditChain": true,
	"reviewSodViolations": true, "reviewEntitlements": true, "reviewWildcardDrift": true, "reviewAuditChain": true,
	"listSubjects": true, "listScopes": true, "listKeys": true, "plan": true,
	"getGrantUsage": true, "getRevokeUsage": true, "getRoleUsage": true, "getPermissionUsage": true, "getScopeTypeUsage": true,
}

// class says how early an operation is refused.
func (e entry) class() admission.Class {
	switch {
	case e.Op == "check":
		return admission.Check
	case e.Kind == provider.Write:
		return admission.Write
	case e.List != "", readers[e.Op]:
		return admission.List
	}
	return admission.Read
}

// reserve is for the administration socket: whoever administers the host is not shut
// out by those who overload it.
func (c *call) reserve() int {
	if c.local != nil {
		return admission.Reserve
	}
	return 0
}

// admit waits until the operation may run. The exchange gives its place back.
func (x *exchange) admit(e entry, limiter *admission.Limiter, reserve int) (err error) {
	if limiter == nil {
		return nil
	}
	if x.out.ticket, err = limiter.Acquire(x.r.Context(), e.class(), 0, reserve); err != nil {
		return e.overload()
	}
	return nil
}

// expect refuses an operation that cannot be admitted before its body is read.
func (e entry) expect(limiter *admission.Limiter) error {
	if limiter == nil || limiter.Expect(e.class()) == nil {
		return nil
	}
	return e.overload()
}

// overload is the refusal of an operation of which nothing was done.
func (e entry) overload() error {
	refused := &authz.UnavailableError{Cause: admission.ErrRefused,
		Message: fmt.Sprintf("%s was refused: the host is asked more than it can do; try again after %s", e.Op, admission.RetryAfter)}
	if e.Kind == provider.Write {
		refused.Outcome = authz.OutcomeNotApplied
	}
	return &throttled{error: refused, waitMs: admission.RetryAfter.Milliseconds()}
}

// end gives the place of a failed operation back. How long it took counts only for an
// outage: a refusal may not have got as far as the storage driver.
func (x *exchange) end(err error) {
	var outage *authz.UnavailableError
	if errors.As(err, &outage) {
		x.out.ticket.Answered()
	}
	x.out.ticket.Release()
	x.out.ticket = admission.Ticket{}
}
