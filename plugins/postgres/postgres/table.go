package postgres

import (
	"fmt"
	"slices"
	"strings"

	"github.com/authzhost/authz/plugins/internal/relational"
)

// bulkRows is how many rows one statement writes.
const bulkRows = 2000

// table writes the rows of one entity. One row travels as parameters, more as
// an array for each column.
type table[T any] struct {
	entity relational.Entity[T]
	types  []relational.Type

	insertOne, insertMany string
	upsertOne, upsertMany string
	deleteMany            string // by the first key column; returns the rows
}

var (
	grantTable   = tableOf(relational.Grants)
	revokeTable  = tableOf(relational.Revokes)
	roleTable    = tableOf(relational.Roles)
	groupTable   = tableOf(relational.Groups)
	userTable    = tableOf(relational.Users)
	requestTable = tableOf(relational.Requests)
	auditTable   = tableOf(relational.Audit)
	recordTable  = tableOf(relational.Records)

	deleteExpected = deleteText(relational.Requests, "id", ` and t."state" = $3 and t."stageIndex" = $4`)
)

func tableOf[T any](e relational.Entity[T]) table[T] {
	t := table[T]{entity: e}
	var layout relational.Table
	for _, l := range relational.Tables {
		if l.Name == e.Table {
			layout = l
		}
	}
	var params, arrays, names, values, sets []string
	for i, c := range layout.Columns {
		t.types = append(t.types, c.Type)
		params = append(params, fmt.Sprintf("$%d", i+2))
		arrays = append(arrays, fmt.Sprintf("$%d::%s[]", i+2, arrayType(c.Type)))
		names = append(names, fmt.Sprintf("c%d", i))
		value := names[i]
		if c.Type == relational.JSON {
			value += "::json"
		}
		values = append(values, value)
		if !slices.Contains(layout.Key, c.Name) {
			sets = append(sets, fmt.Sprintf("%q = excluded.%q", c.Name, c.Name))
		}
	}
	into := fmt.Sprintf(`insert into %q ("app", %s) `, e.Table, quoted(e.Columns, ""))
	t.insertOne = into + "values ($1, " + strings.Join(params, ", ") + ")"
	t.insertMany = into + "select $1, " + strings.Join(values, ", ") + " from unnest(" + strings.Join(arrays, ", ") + ") n(" + strings.Join(names, ", ") + ")"
	replace := fmt.Sprintf(" on conflict (%s) do update set %s", led(layout.Key), strings.Join(sets, ", "))
	t.upsertOne, t.upsertMany = t.insertOne+replace, t.insertMany+replace
	t.deleteMany = deleteText(e, layout.Key[0], "")
	return t
}

func deleteText[T any](e relational.Entity[T], key, condition string) string {
	return fmt.Sprintf(`delete from %q t where t."app" = $1 and t.%q = any($2::text[])%s returning %s`, e.Table, key, condition, quoted(e.Columns, "t."))
}

func arrayType(t relational.Type) string {
	switch t {
	case relational.Big, relational.Int:
		return "bigint"
	case relational.Bool:
		return "boolean"
	}
	return "text" // JSON is cast row by row
}

// write are the statements that write the rows by the texts given, in order.
func (t *table[T]) write(app, one, many string, rows []T) ([]step, error) {
	var steps []step
	for piece := range slices.Chunk(rows, bulkRows) {
		args := []any{app}
		text := many
		if len(piece) == 1 {
			text = one
			values, err := t.entity.Args(piece[0])
			if err != nil {
				return nil, err
			}
			args = append(args, values...)
		} else {
			columns, err := t.columns(piece)
			if err != nil {
				return nil, err
			}
			args = append(args, columns...)
		}
		steps = append(steps, step{sql: text, args: args})
	}
	return steps, nil
}

// columns turns rows into an array for each column.
func (t *table[T]) columns(rows []T) ([]any, error) {
	texts := make([][]*string, len(t.types))
	numbers := make([][]*int64, len(t.types))
	bools := make([][]bool, len(t.types))
	for _, row := range rows {
		values, err := t.entity.Args(row)
		if err != nil {
			return nil, err
		}
		for i, value := range values {
			switch t.types[i] {
			case relational.Text, relational.JSON:
				texts[i] = append(texts[i], pointer[string](value))
			case relational.Big, relational.Int:
				numbers[i] = append(numbers[i], pointer[int64](value))
			case relational.Bool:
				b, _ := value.(bool)
				bools[i] = append(bools[i], b)
			}
		}
	}
	args := make([]any, len(t.types))
	for i, kind := range t.types {
		switch kind {
		case relational.Text, relational.JSON:
			args[i] = texts[i]
		case relational.Big, relational.Int:
			args[i] = numbers[i]
		case relational.Bool:
			args[i] = bools[i]
		}
	}
	return args, nil
}

// pointer is nil for an absent value.
func pointer[V any](value any) *V {
	switch v := value.(type) {
	case V:
		return &v
	case *V:
		return v
	}
	return nil
}
