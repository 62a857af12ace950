package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/spf13/cobra"

	"github.com/authzhost/authz/internal/input"
	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/internal/words"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

func newAuditVerify() *cobra.Command {
	a, v := &admin{}, &verification{}
	c := &cobra.Command{
		Use:   "verify",
		Short: "Verify the hash chain of a log",
		Long: `Verify that no entry of the log was changed, taken out or put in since it was written
(audit.hash_chain). A log that has entries and no hashes fails; so does one whose hashes end.
--prior-hash verifies what follows the entry of that hash, such as the last one of the export
before. Over the socket the host reads its log itself. With --url this command reads the log,
and with -f an export.

To see that the end was cut off, or that a whole log was hashed anew, compare the log with what
was kept elsewhere: --anchors takes the file of audit.anchor, or a copy of it. Compare it with
a whole log; an export ends a minute ago, unless it was made with --to 0s.

--org has the hosted API verify the log of the org's root, or with --app of one of its
applications, part by part; with --prior-hash or --anchors that log is read here.

--account verifies the account logs of the hosted service instead: over the socket those of
every org and that of none, with --org that of one org over the hosted API.`,
		Example: `  authz audit verify
  authz audit verify --anchors /var/lib/authz-anchors/anchors.ndjson
  authz audit verify --org acme --app docs
  authz audit verify --account --org acme
  authz audit verify -f audit.ndjson --prior-hash e3a3c79f8f711f7ae28901cbad43d144e3a5fcd6b9b95225cff69139c2d228d2`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := v.check(a); err != nil {
				return err
			}
			verdicts, err := v.run(c, a)
			if err != nil {
				return err
			}
			return v.told(c, a, verdicts)
		},
	}
	a.reads(c)
	a.addOrg(c)
	c.Flags().StringVarP(&v.file, "file", "f", "", "an export instead of the log, - for standard input")
	c.Flags().StringVar(&v.prior, "prior-hash", "", "the hash of the entry before the first")
	c.Flags().Var(named{&v.anchors}, "anchors", "the file of audit.anchor: the log must be the one that was anchored")
	c.Flags().BoolVar(&v.account, "account", false, "the account logs of the hosted service")
	_ = c.MarkFlagFilename("file", "ndjson", "jsonl")
	_ = c.MarkFlagFilename("anchors")
	_ = c.RegisterFlagCompletionFunc("prior-hash", cobra.NoFileCompletions)
	return c
}

// verification is what the flags ask for.
type verification struct {
	file, prior, anchors string
	account              bool
}

func (v *verification) check(a *admin) error {
	for _, c := range []struct {
		wrong bool
		what  string
	}{
		{v.anchors != "" && v.prior != "", "--anchors count from the beginning of a log: leave out --prior-hash"},
		{v.file != "" && a.app != "" && v.anchors == "", "--app says with whose anchors an export is compared: give --anchors too, or leave it out"},
		{v.file != "" && (a.socket != "" || a.url != ""), "--file is verified here, and no host is asked: leave out --socket and --url"},
		{v.account && v.prior != "", "--prior-hash is of one log: leave it out with --account"},
		{v.account && v.file != "", "--account reads the logs themselves: leave out --file"},
		{v.account && a.app != "", "--account is about the hosted service: leave out --app"},
		{v.account && a.url != "" && a.org == "", "the account logs are read over the socket, or with --org over the hosted API"},
		{v.file != "" && a.org != "", "--file is verified here, and no host is asked: leave out --org"},
		{!v.account && a.org != "" && v.anchors != "" && a.app == "", "--anchors are of an application's log: name it with --app"},
	} {
		if c.wrong {
			return usageError{errors.New(c.what)}
		}
	}
	return a.outputFlag.check()
}

// A verdict is what became of one log.
type verdict struct {
	Log     string `json:"log,omitempty"`
	OK      bool   `json:"ok"`
	Hashed  int    `json:"hashed"`
	Before  int    `json:"before,omitempty"` // entries without a hash, before the chain
	Anchors int    `json:"anchors,omitempty"`
	Index   *int   `json:"index,omitempty"`
	Reason  string `json:"reason,omitempty"`

	message string // of a failure
}

// The reasons of a verdict beside those of a chain.
const (
	reasonNoHashes  = "no_hashes"
	reasonCut       = "cut"
	reasonRewritten = "rewritten"
)

func (v *verdict) fail(reason, format string, args ...any) {
	v.OK, v.Reason, v.message = false, reason, fmt.Sprintf(format, args...)
}

// told prints the verdicts. Any that is not good is the command's failure.
func (v *verification) told(c *cobra.Command, a *admin, verdicts []verdict) error {
	var value any = verdicts[0]
	if v.account && a.org == "" {
		value = fields{"logs": verdicts}
	}
	var failed []error
	for _, one := range verdicts {
		if one.OK {
			continue
		}
		if one.Log != "" {
			one.message = plain(one.Log) + ": " + one.message
		}
		failed = append(failed, errors.New(one.message))
	}
	err := a.printed(c, value, func(w io.Writer) {
		for _, one := range verdicts {
			if one.OK {
				fmt.Fprintln(w, one.text())
			}
		}
	})
	return errors.Join(append(failed, err)...)
}

func (v *verdict) text() string {
	text := fmt.Sprintf("the chain holds: %d entries are part of it", v.Hashed)
	if v.Log != "" {
		text = plain(v.Log) + ": " + text
	}
	if v.Before > 0 {
		text += fmt.Sprintf("; nothing vouches for the %d before it", v.Before)
	}
	if v.Anchors > 0 {
		text += fmt.Sprintf("; it agrees with %d anchors", v.Anchors)
	}
	return text
}

// run verifies what is asked for. Anchors are read before the log, which may grow
// meanwhile.
func (v *verification) run(c *cobra.Command, a *admin) ([]verdict, error) {
	anchors, err := v.readAnchors(c)
	if err != nil {
		return nil, err
	}
	one := func(name string, entries iter.Seq2[authz.AuditEntry, error]) ([]verdict, error) {
		known, err := v.anchorsOf(anchors, name)
		if err != nil {
			return nil, err
		}
		out, err := v.verify("", entries, known)
		return []verdict{out}, err
	}
	ctx := c.Context()
	switch {
	case v.file != "":
		in, err := input.Open(c.InOrStdin(), v.file)
		if err != nil {
			return nil, err
		}
		defer in.Close()
		name := ""
		if a.app != "" {
			name = applicationLog + a.app
		}
		verdicts, err := one(name, exported(input.Name(v.file), in))
		if err == nil && verdicts[0].OK && verdicts[0].Hashed == 0 && v.anchors == "" {
			err = usageError{fmt.Errorf("%s holds no entry, so nothing was verified: give what 'authz audit export' writes", input.Name(v.file))}
		}
		return verdicts, err
	case v.account && a.org != "":
		h, err := a.hosted(c.ErrOrStderr())
		if err != nil {
			return nil, err
		}
		return one(accountLog+h.Org, hostedLog(ctx, h, "audit"))
	case v.account:
		return v.accounts(ctx, a, anchors)
	}
	app, err := a.open(ctx)
	if err != nil {
		return nil, err
	}
	if app.hosted != nil {
		if anchors == nil && v.prior == "" {
			out, err := partByPart(ctx, app)
			return []verdict{out}, err
		}
		path := []string{"org", "audit"}
		if a.app != "" {
			path = []string{"applications", a.app, "audit"}
		}
		return one(applicationLog+a.app, afterHash(hostedLog(ctx, app.hosted, path...), v.prior))
	}
	if !app.remote && anchors == nil {
		out, err := v.asked(ctx, app)
		return []verdict{out}, err
	}
	name := app.where
	if app.remote {
		var ping provider.Ping
		if err := app.call(ctx, "ping", nil, &ping); err != nil {
			return nil, err
		}
		name = ping.Application
	}
	return one(applicationLog+name, afterHash(entriesOf(auditPages(ctx, app, nil, authz.AuditCursor{})), v.prior))
}

// asked has the host verify its log. The answer is the same for an empty log and one
// without hashes.
func (v *verification) asked(ctx context.Context, app *application) (out verdict, err error) {
	p, report := fields{}, authz.HashChainReport{}
	if v.prior != "" {
		p["priorHash"] = v.prior
	}
	if err := app.long(ctx, "verifyAuditChain", p, &report); err != nil {
		return out, err
	}
	var newest struct{ Events []authz.AuditEntry }
	if report.OK && report.Hashed == 0 && v.prior == "" {
		if err := app.call(ctx, "listAuditEvents", fields{"filter": fields{"limit": 1}}, &newest); err != nil {
			return out, err
		}
	}
	return judged("", report, nil, len(newest.Events)), nil
}

// verify reads a log here.
func (v *verification) verify(name string, entries iter.Seq2[authz.AuditEntry, error], anchors []authz.AuditAnchor) (verdict, error) {
	before := 0
	counted := func(yield func(authz.AuditEntry, error) bool) {
		for e, err := range entries {
			if err == nil && e.Hash == "" {
				before++
			}
			if !yield(e, err) {
				return
			}
		}
	}
	var report authz.HashChainReport
	var fault *authz.AnchorFault
	var err error
	if v.prior != "" {
		report, err = authz.VerifyHashChain(counted, v.prior)
	} else {
		report, fault, err = authz.VerifyAnchored(counted, anchors)
	}
	if err != nil {
		return verdict{}, err
	}
	out := judged(name, report, fault, before)
	if out.OK {
		out.Before, out.Anchors = before, len(anchors)
	}
	return out, nil
}

// judged: before is how many entries without a hash came before the chain.
func judged(name string, report authz.HashChainReport, fault *authz.AnchorFault, before int) verdict {
	out := verdict{Log: name, OK: report.OK, Hashed: report.Hashed}
	switch {
	case !report.OK:
		out.Index = &report.Index
		out.fail(string(report.Reason), "the chain is broken: %s at entry %d of those read", report.Reason, report.Index+1)
	case fault != nil && fault.Cut():
		out.fail(reasonCut, "the log was cut: %d of its entries are chained, and there were %d %s",
			fault.Count, fault.Anchor.Count, anchoredAt(fault.Anchor))
	case fault != nil:
		out.fail(reasonRewritten, "the log was written anew: its chained entry %d has the hash %s, and had %s %s",
			fault.Count, plain(fault.Hash), plain(fault.Anchor.Hash), anchoredAt(fault.Anchor))
	case report.Hashed == 0 && before > 0:
		out.fail(reasonNoHashes, "the log has entries and no hashes: nothing shows whether they were changed. %s",
			"With audit.hash_chain: true an application's log is chained from its next entry on; this version of the host chains an account's")
	}
	return out
}

// anchoredAt says where an anchor comes from. The head that the database itself keeps
// names no log.
func anchoredAt(a authz.AuditAnchor) string {
	if a.Log == "" {
		return "by the account data's own record of its head"
	}
	return "at " + words.Instant(a.Time.UnixMilli()) + ", when it was anchored"
}

// exported reads the entries of an export.
func exported(file string, in io.Reader) iter.Seq2[authz.AuditEntry, error] {
	return func(yield func(authz.AuditEntry, error) bool) {
		d := json.NewDecoder(bufio.NewReader(in))
		for n := 1; ; n++ {
			var e authz.AuditEntry
			err := d.Decode(&e)
			if err == io.EOF {
				return
			}
			if err != nil {
				err = usageError{fmt.Errorf("%s: entry %d cannot be read: %w — an export is what 'authz audit export' writes, NDJSON", file, n, err)}
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// entriesOf are the entries of pages.
func entriesOf(pages iter.Seq2[[]authz.AuditEntry, error]) iter.Seq2[authz.AuditEntry, error] {
	return func(yield func(authz.AuditEntry, error) bool) {
		for page, err := range pages {
			if err != nil {
				yield(authz.AuditEntry{}, err)
				return
			}
			for _, e := range page {
				if !yield(e, nil) {
					return
				}
			}
		}
	}
}

// afterHash are the entries that follow the one of a hash, all of them when it is
// "". It is an error when no entry has it.
func afterHash(entries iter.Seq2[authz.AuditEntry, error], hash string) iter.Seq2[authz.AuditEntry, error] {
	return func(yield func(authz.AuditEntry, error) bool) {
		found := hash == ""
		for e, err := range entries {
			if err == nil && !found {
				found = e.Hash == hash
				continue
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
		if !found {
			yield(authz.AuditEntry{}, authz.Rejected(authz.CodeNotFound, "no entry of the log has the hash %s", spell.Quote(hash)))
		}
	}
}

// partByPart has a log verified part by part.
func partByPart(ctx context.Context, app *application) (verdict, error) {
	asked, report, before := fields{}, authz.HashChainReport{OK: true}, 0
	for {
		var part provider.AuditChainPart
		if err := app.call(ctx, "reviewAuditChain", asked, &part); err != nil {
			return verdict{}, err
		}
		report.Hashed, before = report.Hashed+part.Hashed, before+part.Unhashed
		switch {
		case !part.OK:
			report = authz.HashChainReport{Index: report.Hashed + before, Reason: part.Reason}
			return judged("", report, nil, before), nil
		case !part.More:
			out := judged("", report, nil, before)
			if out.OK {
				out.Before = before
			}
			return out, nil
		}
		asked["after"] = part.Last
	}
}
