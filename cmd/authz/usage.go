package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/authzhost/authz/internal/spell"
)

// usageError is a command line that cannot be carried out as it stands.
type usageError struct{ error }

// seeHelp is a usage error of a command line that the command's help explains.
func seeHelp(c *cobra.Command, format string, args ...any) error {
	return usageError{fmt.Errorf(format+"\nRun '%s --help' for what it takes", append(args, c.CommandPath())...)}
}

// showHelp is what a command does that only has others below it.
func showHelp(c *cobra.Command, _ []string) error { return c.Help() }

// needs makes flags required, beside what was asked for before.
func needs(c *cobra.Command, flags ...string) {
	before := c.PreRunE
	c.PreRunE = func(c *cobra.Command, args []string) error {
		for _, name := range flags {
			if f := c.Flags().Lookup(name); !f.Changed && (f.DefValue == "" || f.Value.Type() != "string") {
				return seeHelp(c, "--%s is required", name)
			}
		}
		if before != nil {
			return before(c, args)
		}
		return nil
	}
}

// asUsage makes wrong arguments and empty flags of every command usage errors.
func asUsage(c *cobra.Command) {
	if takes := c.Args; takes != nil {
		c.Args = func(c *cobra.Command, given []string) error {
			if takes(c, given) != nil {
				return wrongArguments(c, takes, given)
			}
			if i := slices.Index(given, ""); i >= 0 { // an unset variable of a script: a scope would be everywhere
				return seeHelp(c, "argument %d is empty: %s", i+1, c.CommandPath()+strings.TrimPrefix(c.Use, c.Name()))
			}
			return emptyFlags(c)
		}
	}
	for _, child := range c.Commands() {
		asUsage(child)
	}
}

func wrongArguments(c *cobra.Command, takes cobra.PositionalArgs, given []string) error {
	if c.HasSubCommands() && len(given) > 0 {
		return unknownCommand(c, given[0])
	}
	line := c.CommandPath() + strings.TrimPrefix(c.Use, c.Name())
	for n := range 3 { // would more of them do?
		if takes(c, append(slices.Clone(given), make([]string, n+1)...)) == nil {
			return seeHelp(c, "an argument is missing: %s", line)
		}
	}
	return seeHelp(c, "%s is one argument too many: %s", spell.Quote(given[len(given)-1]), line)
}

func unknownCommand(c *cobra.Command, given string) error {
	var names []string
	for _, child := range c.Commands() {
		if child.IsAvailableCommand() {
			names = append(names, child.Name())
		}
	}
	advice := "there are " + strings.Join(names, ", ")
	if near := spell.Nearest(given, names); near != "" {
		advice = "did you mean " + near + "?"
	}
	return seeHelp(c, "%s is no command of '%s': %s", spell.Quote(given), c.CommandPath(), advice)
}

// clearing are the flags for which nothing is a value.
var clearing = []string{"description", "note", "name"}

// emptyFlags refuses flags that were given nothing, as by an unset variable of a
// script: --expires "$UNTIL" would be for ever.
func emptyFlags(c *cobra.Command) (err error) {
	c.Flags().Visit(func(f *pflag.Flag) {
		empty := false
		switch list, many := f.Value.(pflag.SliceValue); {
		case many:
			empty = slices.Contains(list.GetSlice(), "")
		case f.Value.Type() == "string":
			empty = f.Value.String() == ""
		}
		if empty && err == nil && !slices.Contains(clearing, f.Name) {
			err = seeHelp(c, "--%s is given, and it is empty: leave it out, or say what it is to be", f.Name)
		}
	})
	return err
}

// wrongFlag says what is wrong with a flag that could not be read.
func wrongFlag(c *cobra.Command, err error) error {
	var (
		unknown *pflag.NotExistError
		value   *pflag.InvalidValueError
	)
	switch given := c.Flags().Args(); {
	case c.HasSubCommands() && len(given) > 0: // a misspelt command does not know the flags that it would have
		return unknownCommand(c, given[0])
	case errors.As(err, &value) && takes(value.GetFlag()) == "":
		return seeHelp(c, "--%s: %w", value.GetFlag().Name, value.Unwrap())
	case errors.As(err, &value):
		f := value.GetFlag()
		return seeHelp(c, "--%s takes %s, not %s", f.Name, takes(f), spell.Quote(value.GetValue()))
	case errors.As(err, &unknown):
		name := unknown.GetSpecifiedName()
		if short := unknown.GetSpecifiedShortnames(); short != "" && strings.Trim(short, "0123456789.hmsd") == "" {
			return seeHelp(c, "-%s is read as a flag: put -- before arguments that begin with -", short)
		}
		var names []string
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				names = append(names, f.Name)
			}
		})
		if near := spell.Nearest(name, names); near != "" {
			return seeHelp(c, "%w: did you mean --%s?", err, near)
		}
	}
	return seeHelp(c, "%w", err)
}

func takes(f *pflag.Flag) string {
	switch f.Value.Type() {
	case "bool":
		return "true or false"
	case "int", "int64":
		return "a whole number"
	case "float64":
		return "a number such as 0.1"
	case "duration":
		return "a duration such as 90s or 1h"
	}
	return "" // it says so itself
}

// strictHelp has the commands that cobra makes refuse what they do not know.
func strictHelp(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		switch c.Name() {
		case "help":
			c.Run = nil
			c.RunE = func(c *cobra.Command, args []string) error {
				about, left, err := c.Root().Find(args)
				switch {
				case err != nil:
					return usageError{err}
				case len(left) > 0 && about.HasSubCommands():
					return unknownCommand(about, left[0])
				}
				return about.Help()
			}
		case "completion":
			c.Args, c.RunE = cobra.NoArgs, showHelp
			asUsage(c)
		}
	}
}

// exactlyOne refuses a choice of which none or several were taken.
func exactlyOne(what string, given ...bool) error {
	n := 0
	for _, g := range given {
		if g {
			n++
		}
	}
	if n != 1 {
		return usageError{errors.New("give exactly one of " + what)}
	}
	return nil
}
