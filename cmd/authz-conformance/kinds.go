package main

import (
	"github.com/authzhost/authz/conformance"
	"github.com/authzhost/authz/conformance/runner"
)

// allCases lists the cases of every kind in the order in which they run.
func allCases() []runner.Case { return conformance.Cases() }
