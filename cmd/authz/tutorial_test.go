package main

import "testing"

// Somebody who has the command and an empty folder follows the tutorial from its first line to
// its last, in a shell, and sees what it shows.
func TestTheTutorialLeadsFromAnEmptyFolderToAnApproval(t *testing.T) {
	newReader(t, "curl", "go").read("../../docs/tutorial.md")
}
