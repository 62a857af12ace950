package provider

import (
	"context"

	"github.com/authzhost/authz/sdk/access"
	"github.com/authzhost/authz/sdk/authz"
)

// Reviews are the reports for auditors in pages (spec: application §14). A page looks at
// a bounded number of rows and may end before it is full, even empty: its Next, where
// there is one, is the After of the one that follows.
type Reviews interface {
	// ReviewSodViolations lists the users who break the separation of duties.
	ReviewSodViolations(ctx context.Context, q ReviewQuery) (SodViolationsPage, error)

	// ReviewEntitlements lists what the rows of users confer.
	ReviewEntitlements(ctx context.Context, q ReviewQuery) (EntitlementsPage, error)

	// ReviewWildcardDrift lists the wildcards in use that gained keys since a publication.
	ReviewWildcardDrift(ctx context.Context, q DriftQuery) (DriftPage, error)

	// ReviewAuditChain verifies a part of the hash chain of the audit log.
	ReviewAuditChain(ctx context.Context, q AuditChainQuery) (AuditChainPart, error)
}

// The bounds of a page of a report. One row or finding is always told whole.
const (
	MaxReviewed      = 200       // users that a page looks at
	MaxDriftFindings = 1000      // findings of a page
	MaxChainPart     = 10_000    // entries that are verified at once
	MaxReviewBytes   = 256 << 10 // of the rows or findings of a page, as JSON
)

// ReviewQuery selects the users that a report is about: those given, in their order, else
// every stored user and every user that a grant names, ascending.
type ReviewQuery struct {
	UserIDs *[]string `json:"userIds,omitempty" read:"filter" min:"0" max:"1000" doc:"Each at most once."`
	Limit   int       `json:"limit,omitempty" read:"page" doc:"Users to look at: 200 where it is left out, and at most."`
	After   string    `json:"after,omitempty" doc:"The next of the page before."`
}

// SodViolationsPage is a page of the users who break constraints.
type SodViolationsPage struct {
	Users []access.Violations `json:"users"`
	Next  string              `json:"next,omitempty"`
}

// EntitlementsPage is a page of users, those with nothing too.
type EntitlementsPage struct {
	Users []access.UserEntitlements `json:"users"`
	Next  string                    `json:"next,omitempty"`
}

// DriftQuery compares a retained publication with the head. Every page of a report
// compares with what was the head at its first one.
type DriftQuery struct {
	SinceVersion int64  `json:"sinceVersion" read:"required"`
	Limit        int    `json:"limit,omitempty" read:"page" doc:"Findings: 1000 where it is left out, and at most."`
	After        string `json:"after,omitempty" doc:"The next of the page before."`
}

// DriftPage is a page of access.DriftReport. A role that many grants name is found again
// with the further ones.
type DriftPage struct {
	FromVersion int64 `json:"fromVersion"`
	ToVersion   int64 `json:"toVersion"`
	access.Drift

	Findings []access.DriftFinding `json:"findings"`
	Next     string                `json:"next,omitempty"`
}

// AuditPlace is an entry of an audit log, with its hash; "" where it has none.
type AuditPlace struct {
	authz.AuditCursor

	Hash string `json:"hash,omitempty"`
}

// AuditChainQuery verifies what follows an entry, nil from the beginning of the log. The
// entry must still be there, with its hash.
type AuditChainQuery struct {
	After *AuditPlace `json:"after,omitempty" doc:"The last of the part before, or of any that was verified."`
	Limit int         `json:"limit,omitempty" read:"page" doc:"Entries: 10000 where it is left out, and at most."`
}

// AuditChainPart is what became of a part of the log. Hashed counts its entries that are
// part of the hash chain, Unhashed those from before it; of a broken chain both count up
// to the entry that breaks it.
type AuditChainPart struct {
	Hashed   int                   `json:"hashed"`
	Unhashed int                   `json:"unhashed"`
	OK       bool                  `json:"ok"`
	Reason   authz.HashChainReason `json:"reason,omitempty"`
	Broken   authz.AuditCursor     `json:"broken,omitzero"`

	// Last is the last entry that was verified, of this part or of one before; absent of an
	// empty log. More says that others follow.
	Last AuditPlace `json:"last,omitzero"`
	More bool       `json:"more,omitempty"`
}

var (
	opReviewSodViolations = declare(Operation{Op: "reviewSodViolations", Kind: Read, Method: "ReviewSodViolations", Tag: "reviews", Summary: "List who breaks the separation of duties",
		Answer: "A page of those who do. It may be empty and not the last."},
		func(ctx context.Context, to Provider, in *ReviewQuery) (SodViolationsPage, error) {
			return to.ReviewSodViolations(ctx, *in)
		})
	opReviewEntitlements = declare(Operation{Op: "reviewEntitlements", Kind: Read, Method: "ReviewEntitlements", Tag: "reviews", Summary: "List what the rows of users confer, and by what",
		Notes: "A page ends before its rows are larger than 256 KiB, and always tells one.", Answer: "A page of users."},
		func(ctx context.Context, to Provider, in *ReviewQuery) (EntitlementsPage, error) {
			return to.ReviewEntitlements(ctx, *in)
		})
	opReviewWildcardDrift = declare(Operation{Op: "reviewWildcardDrift", Kind: Read, Method: "ReviewWildcardDrift", Tag: "reviews", Summary: "List the wildcards in use that gained keys since a publication",
		Notes: "`unsupported` where the storage driver retains no history of the catalog.", Answer: "The keys, and a page of the findings. It may have none and not be the last."},
		func(ctx context.Context, to Provider, in *DriftQuery) (DriftPage, error) {
			return to.ReviewWildcardDrift(ctx, *in)
		})
	opReviewAuditChain = declare(Operation{Op: "reviewAuditChain", Kind: Read, Method: "ReviewAuditChain", Tag: "reviews", Summary: "Verify a part of the hash chain of the audit log",
		Notes: "`not_found` where the log no longer has the entry of `after`, or has it with another hash.", Answer: "What became of the part, and where the next one begins."},
		func(ctx context.Context, to Provider, in *AuditChainQuery) (AuditChainPart, error) {
			return to.ReviewAuditChain(ctx, *in)
		})
)

func (c Calls) ReviewSodViolations(ctx context.Context, q ReviewQuery) (SodViolationsPage, error) {
	return ask(ctx, c, opReviewSodViolations, q)
}

func (c Calls) ReviewEntitlements(ctx context.Context, q ReviewQuery) (EntitlementsPage, error) {
	return ask(ctx, c, opReviewEntitlements, q)
}

func (c Calls) ReviewWildcardDrift(ctx context.Context, q DriftQuery) (DriftPage, error) {
	return ask(ctx, c, opReviewWildcardDrift, q)
}

func (c Calls) ReviewAuditChain(ctx context.Context, q AuditChainQuery) (AuditChainPart, error) {
	return ask(ctx, c, opReviewAuditChain, q)
}
