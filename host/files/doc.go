// Package files judges which other users of the machine may write or read a file
// that the host relies on, and opens directories that only the host's user may use.
//
// Root and the user of this process are trusted; everybody else is another user.
// The package looks at owners, modes and links. It never changes the mode or the
// owner of what it finds.
package files
