package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
)

// wrongWorld is a host with something of everything, and files with mistakes in
// them, for wrong inputs.
type wrongWorld struct {
	*tenant
	words *strings.Replacer // what stands for a space, and for what only this world knows
}

func newWrongWorld(t *testing.T) *wrongWorld {
	t.Helper()
	x := newTenantWith(t, func(text string) string {
		text = strings.Replace(text, "    provider:", "    ancestry: {kind: stored}\n    audit: {hash_chain: true}\n    provider:", 1)
		text = strings.Replace(text, "plugins:\n", "plugins:\n  people: {plugin: file, config: {path: people.csv, settle: 0s}}\n", 1)
		return strings.Replace(text, "service:\n", "service:\n  storage: {driver: main}\n", 1) + "directories:\n  staff: {importer: people, application: docs, source: hr}\n"
	})
	x.logsIn()
	x.env = append(x.env, "XDG_CONFIG_HOME="+x.config, "AUTHZ_SOCKET="+x.socket, "AUTHZ_TOKEN_FILE=")
	x.do("role", "create", "editor", "--pattern", "docs.files.*")
	x.do("role", "create", "approver", "--pattern", "docs.bills.*")
	x.do("group", "create", "staff")
	x.do("group", "create", "writers", "--parent", "staff")
	x.do("user", "groups", "ann", "staff")
	x.do("grant", "create", "user:ann", "--role", "editor")
	x.do("grant", "create", "user:bob", "--role", "approver")
	x.do("scope", "parents", "docs.folder:f_1", "--none")
	x.do("scope", "parents", "docs.folder:f_2", "docs.folder:f_1")
	for name, text := range wrongFiles {
		x.write(name, strings.ReplaceAll(text, "APPLICATION", "{catalog: docs.yaml, storage: {driver: main, partition: docs}"))
	}
	return &wrongWorld{tenant: x, words: strings.NewReplacer("~", " ", "{dir}", x.dir, "{url}", x.base, "{nowhere}", filepath.Join(x.dir, "nowhere"))}
}

// runs runs the program as a shell would, with what is typed in.
func (x *wrongWorld) runs(c wrongInput) (stdout, stderr string, code int) {
	words := strings.Fields(c.args)
	for i := range words {
		words[i] = x.words.Replace(words[i])
	}
	cmd := x.command(words...)
	cmd.Stdin = strings.NewReader(c.in)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	_ = cmd.Run() // its exit code says it
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}
