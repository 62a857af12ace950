// Package lacking makes storage drivers that lack capabilities out of drivers that have
// them: what a capability carries answers that it is unsupported, and nothing else differs.
//
// It serves tests only. It never reaches around the seam.
package lacking
