package main

const usage = `authz-verify checks an application's source against its catalog document, without
running it. It reads authz-verify.config.json in the working directory.

Usage:
  authz-verify [flags]              scan and report
  authz-verify init [flags]         write a first configuration from what lies here
  authz-verify codegen [flags]      write the catalog's keys as source text

Flags:
  --config <path>          the configuration file (default authz-verify.config.json)
  --format <name>          text (to stderr), json or sarif (to stdout); default text
  --changed-since <rev>    report only on files that differ from this git revision
  --cache <dir>            keep answers in this directory, and reuse them while nothing changed
  --watch                  run again whenever something changes, until interrupted
  -h, --help               this text
  --version                the version
  --notices                the notices of the modules that it is made of

Exit status: 0 no error, 1 at least one error, 2 the run could not be made.
`

const codegenUsage = `authz-verify codegen writes types or constants for the keys of a catalog document.

Usage:
  authz-verify codegen --catalog <document.json> [flags]

Flags:
  --catalog <path>         the catalog document
  --out <path>             write this file instead of stdout
  --lang <name>            ts or go (default ts)
  --prefix <Name>          begins every name (default Authz for ts, nothing for go)
  --package <name>         the Go package (default authzkeys; only with --lang go)
  -h, --help               this text
  --version                the version
`

const initUsage = `authz-verify init writes a configuration, with remarks, from what lies in the working
directory. It reads the sources and guesses which functions, wrappers and middleware are
gates, each with how often it was seen and why it was guessed: read these lists. It never replaces a file unless told to.

Usage:
  authz-verify init [flags]

Flags:
  --config <path>          the file to write (default authz-verify.config.json)
  --force                  replace the file
  -h, --help               this text
  --version                the version
`
