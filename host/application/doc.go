// Package application is the local provider: everything above the storage seam.
// It validates what callers ask for, judges it against the stored state inside
// exclusive sections, writes it as one commit with its audit entries and events,
// and supplies the closures that evaluation works on.
//
// It may touch its storage.Store, its catalog and the ancestry source that it was
// given. It decides no access (sdk/access does), speaks no wire format and opens
// no store; driver text goes to the log and never to a caller.
package application
