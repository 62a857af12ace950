package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/authzhost/authz/internal/spell"
)

// savedContext is a name for where commands go. It never holds a token.
type savedContext struct {
	Name      string `json:"name"`
	URL       string `json:"url"`
	Org       string `json:"org,omitempty"`
	App       string `json:"app,omitempty"`
	TokenFile string `json:"tokenFile,omitempty"` // absolute
	CAFile    string `json:"caFile,omitempty"`    // absolute
}

// savedContexts are in the order of their names.
type savedContexts struct {
	Current  string         `json:"current,omitempty"`
	Contexts []savedContext `json:"contexts"`
}

func contextsFile() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", usageError{fmt.Errorf("there is no place for contexts: %w; use --url and --token-file", err)}
	}
	return filepath.Join(dir, "authz", "contexts"), nil
}

// readContexts returns none when there is no file. Whoever else may write it could send
// tokens elsewhere, so it is refused like credentials.
func readContexts() (saved savedContexts, err error) {
	saved.Contexts = []savedContext{}
	path, err := contextsFile()
	if err != nil {
		return saved, nil // where none can be kept there is none
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return saved, nil
	}
	if err != nil {
		return saved, usageError{err}
	}
	defer f.Close()
	if err := othersMayNotWrite(f); err != nil {
		return saved, usageError{err}
	}
	d := json.NewDecoder(f)
	d.DisallowUnknownFields()
	if err := d.Decode(&saved); err != nil {
		return saved, usageError{fmt.Errorf("%s cannot be read (%w): delete it and add the contexts again", path, err)}
	}
	return saved, nil
}

func othersMayNotWrite(f *os.File) error {
	for _, path := range []string{f.Name(), filepath.Dir(f.Name())} {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		if info.Mode().Perm()&0o022 != 0 {
			return fmt.Errorf("%s is writable for others (%s), who could send your tokens elsewhere: 'chmod go-w %s'", path, info.Mode(), path)
		}
	}
	return nil
}

// changeContexts replaces the file by what change makes of it.
func changeContexts(change func(*savedContexts) error) error {
	saved, err := readContexts()
	if err != nil {
		return err
	}
	if err := change(&saved); err != nil {
		return err
	}
	slices.SortFunc(saved.Contexts, func(a, b savedContext) int { return strings.Compare(a.Name, b.Name) })
	path, err := contextsFile()
	if err != nil {
		return err
	}
	return keepJSON(path, saved)
}

func (s *savedContexts) find(name string) (savedContext, error) {
	names := make([]string, len(s.Contexts))
	for i, one := range s.Contexts {
		if one.Name == name {
			return one, nil
		}
		names[i] = one.Name
	}
	switch near := spell.Nearest(name, names); {
	case len(names) == 0:
		return savedContext{}, usageError{fmt.Errorf("there is no context %s: 'authz context add %s --url URL' makes one", spell.Quote(name), plain(name))}
	case near != "":
		return savedContext{}, usageError{fmt.Errorf("there is no context %s; did you mean %s?", spell.Quote(name), near)}
	}
	return savedContext{}, usageError{fmt.Errorf("there is no context %s: there are %s", spell.Quote(name), strings.Join(names, ", "))}
}

// saysWhere are the flags that say where a command goes: beside one of them no context is
// looked at.
var saysWhere = []string{"url", "org", "socket", "config"}

// takeContexts gives every command that can ask a host over the network the flag --with-context,
// and has it go where the context says unless its flags do.
func takeContexts(root *cobra.Command) {
	for _, c := range root.Commands() {
		takeContexts(c)
	}
	if root.Flags().Lookup("url") == nil || root.Name() == "login" || root.Name() == "logout" || root.Parent() != nil && root.Parent().Name() == "context" {
		return
	}
	var name string
	root.Flags().Var(named{&name}, "with-context", "the context to go to, as 'authz context use' for this command alone (default: $AUTHZ_CONTEXT, else the one in use)")
	_ = root.RegisterFlagCompletionFunc("with-context", contextNames)
	before := root.PreRunE
	root.PreRunE = func(c *cobra.Command, args []string) error {
		if err := goTo(c, name); err != nil {
			return err
		}
		if before != nil {
			return before(c, args)
		}
		return nil
	}
	if complete := root.ValidArgsFunction; complete != nil {
		root.ValidArgsFunction = func(c *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
			if goTo(c, name) != nil {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return complete(c, args, typed)
		}
	}
}

// goTo sets the flags of a command that its context says.
func goTo(c *cobra.Command, name string) error {
	for _, flag := range saysWhere {
		if !c.Flags().Changed(flag) {
			continue
		}
		if name != "" {
			return usageError{fmt.Errorf("--with-context and --%s both say which host is asked: give one of them", flag)}
		}
		return nil
	}
	how := "--with-context"
	if name == "" {
		name, how = os.Getenv("AUTHZ_CONTEXT"), "AUTHZ_CONTEXT"
	}
	if name == "" && (os.Getenv("AUTHZ_SOCKET") != "" || os.Getenv("AUTHZ_CONFIG") != "") {
		return nil // which say it too, and by this shell alone
	}
	saved, err := readContexts()
	if err != nil {
		return err
	}
	if name == "" {
		if name, how = saved.Current, "'authz context use'"; name == "" {
			return nil
		}
	}
	to, err := saved.find(name)
	if err != nil {
		return fmt.Errorf("%s: %w", how, err)
	}
	return to.set(c)
}

func (to savedContext) set(c *cobra.Command) error {
	elsewhere := "say where with --socket or --url, or leave the context with 'authz context use --none'"
	switch org := c.Flags().Lookup("org"); {
	case c.Flags().Lookup("url").Hidden:
		return usageError{fmt.Errorf("'%s' is served by the administration socket alone, and the context %s is over the network: %s", c.CommandPath(), to.Name, elsewhere)}
	case to.Org != "" && org == nil:
		return usageError{fmt.Errorf("the context %s is of the org %s, which '%s' does not ask: %s", to.Name, plain(to.Org), c.CommandPath(), elsewhere)}
	case to.Org == "" && c.Flags().Lookup("socket") == nil:
		return usageError{fmt.Errorf("the context %s is of no org, and '%s' asks one: name it with --org", to.Name, c.CommandPath())}
	}
	for _, flag := range []struct{ name, value string }{
		{"url", to.URL}, {"org", to.Org}, {"app", to.App}, {"token-file", to.TokenFile}, {"ca-file", to.CAFile},
	} {
		if flag.value == "" || c.Flags().Lookup(flag.name) == nil || c.Flags().Changed(flag.name) {
			continue
		}
		if err := c.Flags().Set(flag.name, flag.value); err != nil {
			return usageError{fmt.Errorf("the context %s: %s: %w", to.Name, flag.name, err)}
		}
	}
	return nil
}

func contextNames(_ *cobra.Command, args []string, _ string) (names []string, _ cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	saved, _ := readContexts() // nothing to offer then
	for _, one := range saved.Contexts {
		names = append(names, described(one.Name, one.URL))
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
