import { useEffect, useRef, useState } from 'react'
import { type Input, open } from '../../api/call.ts'
import { retained as t } from '../../text/reports.ts'
import { Button } from '../../ui/Button.tsx'
import { save } from '../../ui/save.ts'
import { Failed } from '../../ui/States.tsx'
import { say } from '../../ui/Toasts.tsx'

type Query = Input<'GET /orgs/{org}/retention/export'>['query']

/** Whether a stream of lines is whole: its last line says how many came before. */
async function whole(file: Blob): Promise<boolean> {
  const tail = await file.slice(Math.max(0, file.size - 100)).text()
  try {
    return JSON.parse(tail.trimEnd().split('\n').at(-1) ?? '').end === true
  } catch {
    return false
  }
}

/** Takes retained events away as the file that the host writes, and says so where it is cut. */
export function useRetained(org: string, query: Query) {
  const [read, setRead] = useState<number | null>(null)
  const [cut, setCut] = useState<{ failed: unknown; any: boolean } | null>(null)
  const stop = useRef<AbortController | null>(null)
  useEffect(() => () => stop.current?.abort(), [])
  useEffect(() => setCut(null), [JSON.stringify(query)])
  async function take() {
    const end = new AbortController()
    stop.current = end
    const parts: Blob[] = [] // which the browser keeps out of the page's memory
    let failed: unknown = null
    setCut(null)
    setRead(0)
    try {
      const answer = await open('GET /orgs/{org}/retention/export', { path: { org }, query }, { signal: end.signal })
      const reader = answer.body!.getReader()
      for (let bytes = 0; ; ) {
        const { done, value } = await reader.read()
        if (done) break
        parts.push(new Blob([value]))
        setRead((bytes += value.length))
      }
    } catch (e) {
      failed = e
    }
    setRead(null)
    const file = new Blob(parts, { type: 'application/x-ndjson' })
    const good = failed === null && (await whole(file))
    if (good) say(t.exported)
    else setCut({ failed: end.signal.aborted || failed === null ? null : failed, any: file.size > 0 })
    if (file.size > 0) save(file, `retained-${org}${good ? '' : '-cut'}.ndjson`)
  }
  return {
    button: read === null ? <Button onPress={() => void take()}>{t.take}</Button> : <Button onPress={() => stop.current?.abort()}>{t.stop(read)}</Button>,
    trouble: cut && (
      <div className="stack close">
        {cut.any && <div className="note mind" role="alert"><p>{t.cut}</p></div>}
        {cut.failed !== null && <Failed of={cut.failed} retry={() => void take()} />}
      </div>
    ),
  }
}
