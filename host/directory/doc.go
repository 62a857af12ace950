// Package directory runs the imports of an outside directory: it reads the whole of
// it from an importer, holds the reading to the SDK's rules, has the application
// plan and apply it, and keeps what became of it.
//
// Of all hosts over one database one runs a directory at a time, inside the
// exclusive section directory:<name> of the application's partition; the state,
// with the cursor of the last reading that was applied, is a record beside the rows
// where the driver keeps records, and lives in memory where it does not.
//
// It knows no plugins and no configuration, and writes nothing but that record:
// rows are the application's.
package directory
