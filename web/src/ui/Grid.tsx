import { useVirtualizer } from '@tanstack/react-virtual'
import { type KeyboardEvent, type ReactNode, useEffect, useId, useRef, useState } from 'react'
import { t } from '../text/en.ts'
import { Button } from './Button.tsx'
import { number } from './Id.tsx'
import { singleLetters, useNarrow } from './settings.ts'

export interface Column<Row> {
  id: string
  title: string
  width: string // as a track of a CSS grid
  cell: (row: Row) => ReactNode
  /** Left out where there is little room. */
  least?: boolean
}

interface Props<Row> {
  label: string
  rows: Row[]
  columns: Array<Column<Row>>
  /** Of a row, where there is little room. */
  lines?: number
  rowId: (row: Row) => string
  onOpen?: (row: Row) => void
  /** The ids of chosen rows, and how to choose. */
  chosen?: ReadonlySet<string>
  onChoose?: (ids: Set<string>) => void
  total?: number
  hasMore?: boolean
  isLoading?: boolean
  onMore?: () => void
  /** Others have written since it was read. */
  changed?: boolean
  onReload?: () => void
  empty: ReactNode
  foot?: ReactNode
}

/** A list of any length: rows are drawn as they come into sight, and read as they are needed. */
export function Grid<Row>({ label, rows, columns, lines = 2, rowId, onOpen, chosen, onChoose, total, hasMore, isLoading, onMore, changed, onReload, empty, foot }: Props<Row>) {
  const narrow = useNarrow()
  const height = narrow ? 14 + 22 * lines : 36
  const scroll = useRef<HTMLDivElement>(null)
  const [current, setCurrent] = useState(0)
  const toEnd = useRef(false) // End was pressed: it reads on to the last row, until another key moves
  const prefix = useId()
  const rowsOf = useVirtualizer({ count: rows.length, getScrollElement: () => scroll.current, estimateSize: () => height, overscan: 12, scrollPaddingStart: narrow ? 0 : 32 })
  useEffect(() => rowsOf.measure(), [height, rowsOf])
  const items = rowsOf.getVirtualItems()
  const last = items.at(-1)?.index ?? -1
  useEffect(() => {
    if (hasMore && !isLoading && onMore && (toEnd.current || last >= rows.length - 60)) onMore()
  }, [hasMore, isLoading, last, rows.length, onMore])
  useEffect(() => {
    if (toEnd.current) go(rows.length - 1)
    if (!hasMore && !isLoading) toEnd.current = false
  }, [rows.length, hasMore, isLoading])

  function go(to: number) {
    const at = Math.max(0, Math.min(rows.length - 1, to))
    setCurrent(at)
    rowsOf.scrollToIndex(at, { align: 'auto' })
  }

  function choose(row: Row) {
    if (!onChoose || !chosen) return
    const next = new Set(chosen)
    if (!next.delete(rowId(row))) next.add(rowId(row))
    onChoose(next)
  }

  function onKeyDown(e: KeyboardEvent<HTMLDivElement>) {
    if (e.ctrlKey || e.metaKey || e.altKey || e.target !== scroll.current) return
    const page = Math.max(1, Math.floor((scroll.current?.clientHeight ?? 0) / height) - 2)
    const letters = singleLetters()
    const row = rows[current]
    const moves: Record<string, number> = { ArrowDown: current + 1, ArrowUp: current - 1, PageDown: current + page, PageUp: current - page, Home: 0, End: rows.length - 1 }
    if (letters) Object.assign(moves, { j: current + 1, k: current - 1 })
    if (e.key in moves) {
      toEnd.current = e.key === 'End' && Boolean(hasMore || isLoading)
      go(moves[e.key]!)
    } else if (e.key === 'Enter' && row && onOpen) onOpen(row)
    else if ((e.key === ' ' || (letters && e.key === 'x')) && row && onChoose) choose(row)
    else return
    e.preventDefault()
  }

  const template = (onChoose ? '20px ' : '') + columns.map(c => c.width).join(' ')
  return (
    <div className="grid">
      <div
        className="scroll" ref={scroll} role="grid" tabIndex={0} aria-label={label} data-grid
        aria-rowcount={hasMore ? (total ?? -1) : rows.length + 1} aria-multiselectable={onChoose ? true : undefined}
        aria-activedescendant={rows.length ? `${prefix}${current}` : undefined} onKeyDown={onKeyDown}
      >
        <div className="head" role="rowgroup">
          <div role="row" aria-rowindex={1} style={{ gridTemplateColumns: template }}>
            {onChoose && <div role="columnheader"><span className="hidden">{t.grid.choose}</span></div>}
            {columns.map(c => <div role="columnheader" className="cut" key={c.id}>{c.title}</div>)}
          </div>
        </div>
        <div className="body" role="rowgroup" style={{ height: rowsOf.getTotalSize() }}>
          {items.map(item => {
            const row = rows[item.index]!
            const id = rowId(row)
            return (
              <div
                role="row" key={item.key} id={`${prefix}${item.index}`} aria-rowindex={item.index + 2}
                className={item.index === current ? 'current' : undefined} aria-selected={chosen ? chosen.has(id) : undefined}
                style={{ height, transform: `translateY(${item.start}px)`, gridTemplateColumns: template }}
                onClick={e => {
                  setCurrent(item.index)
                  if (!(e.target as Element).closest('a,button')) onOpen?.(row)
                }}
              >
                {onChoose && <div role="gridcell" className="ticked" onClick={e => (e.stopPropagation(), setCurrent(item.index), choose(row))}><span className="tick" aria-hidden="true" /></div>}
                {columns.map((c, i) => <div role="gridcell" className={i === 0 ? 'first' : c.least ? 'least' : undefined} key={c.id}>{c.cell(row)}</div>)}
              </div>
            )
          })}
        </div>
        {rows.length === 0 && !isLoading && <div role="row"><div role="gridcell" className="grow">{empty}</div></div>}
      </div>
      <div className="foot">
        <span role="status">{isLoading ? t.grid.reading(number.format(rows.length), total) : t.grid.count(rows.length, hasMore ?? false, total)}</span>
        {changed && !isLoading && <span className="row">{t.grid.changed} <Button small onPress={onReload}>{t.grid.reload}</Button></span>}
        {foot}
      </div>
    </div>
  )
}
