import { useEffect, useRef, useState } from 'react'
import { csv } from '../../domain/csv.ts'
import { reports as t } from '../../text/reports.ts'
import { Button } from '../../ui/Button.tsx'
import { save } from '../../ui/save.ts'
import { Failed } from '../../ui/States.tsx'
import { say } from '../../ui/Toasts.tsx'

export type Lines = Array<Array<string | number | boolean | null | undefined>>

/** Takes a report away as a file, page by page, and says so where it is cut. */
export function useCsv(name: string, header: string[], pages: (signal: AbortSignal) => AsyncIterable<Lines>) {
  const [read, setRead] = useState<number | null>(null)
  const [cut, setCut] = useState<{ count: number; failed: unknown } | null>(null)
  const stop = useRef<AbortController | null>(null)
  useEffect(() => {
    setCut(null)
    return () => stop.current?.abort()
  }, [name])
  async function take() {
    const end = new AbortController()
    stop.current = end
    const parts: Blob[] = [new Blob([csv([header])])] // which the browser keeps out of the page's memory
    let count = 0
    let failed: unknown = null
    setCut(null)
    setRead(0)
    try {
      for await (const lines of pages(end.signal)) {
        parts.push(new Blob([csv(lines)]))
        count += lines.length
        setRead(count)
      }
    } catch (e) {
      failed = e
    }
    setRead(null)
    if (failed === null) say(t.exported(count))
    else setCut({ count, failed: end.signal.aborted ? null : failed })
    if (failed === null || count > 0) save(new Blob(parts, { type: 'text/csv' }), `${name}${failed === null ? '' : '-cut'}.csv`)
  }
  return {
    button: read === null ? <Button onPress={() => void take()}>{t.take}</Button> : <Button onPress={() => stop.current?.abort()}>{t.stop(read)}</Button>,
    trouble: cut && (
      <div className="stack close">
        <div className="note mind" role="alert"><p>{t.cut(cut.count)}</p></div>
        {cut.failed !== null && <Failed of={cut.failed} retry={() => void take()} />}
      </div>
    ),
  }
}

/** All pages of a list, one after the other. */
export async function* through<Page extends { nextCursor: string | null }>(ask: (cursor: string) => Promise<Page>, lines: (page: Page) => Lines): AsyncIterable<Lines> {
  for (let cursor = ''; ; ) {
    const page = await ask(cursor)
    yield lines(page)
    if (!page.nextCursor) return
    cursor = page.nextCursor
  }
}
