// Package authztest lets tests of an application ask about its access: a World is an
// application in memory, with its rows written as text, and with assertions whose failures
// say which rows decided and what would change the answer. Nothing of it is a fake: a host
// answers by the same code, over another storage driver.
//
//	w := authztest.New(t, authztest.Catalog(t, "catalog.yaml"), `
//		role  editor docs.files.*
//		grant user:ann role editor docs.folder:1`)
//	w.Can("user:ann", "docs.files.edit", "docs.folder:1")
//
// World.Client and World.Provider are what the code under test is given. Only tests import
// this package: it links the host and the memory driver.
package authztest
