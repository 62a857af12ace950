// Command prose measures how the documentation reads, page by page: words a sentence,
// sentences of more than 32 words, and the share of sentences in the passive. With -check
// it fails on a page beyond the limits; `make lint` runs it so.
//
// Linters for prose (vale, textlint) report places and need a rule for each; here the
// figures of a page are wanted, so that pages can be compared. What Markdown is, a
// library knows.
package main
