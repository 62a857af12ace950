import { useEffect, useRef, useState } from 'react'
import { t } from '../../text/en.ts'
import { Button } from '../../ui/Button.tsx'
import { save } from '../../ui/save.ts'
import { Failed } from '../../ui/States.tsx'
import { say } from '../../ui/Toasts.tsx'
import { exported, type Filter } from './log.ts'

interface Cut {
  count: number
  /** Null where the reader stopped it. */
  failed: unknown
}

/** Takes the events of a filter away as a file, and says so where it is cut. */
export function useExport(org: string, log: string, filter: Filter) {
  const [read, setRead] = useState<number | null>(null)
  const [cut, setCut] = useState<Cut | null>(null)
  const stop = useRef<AbortController | null>(null)
  useEffect(() => () => stop.current?.abort(), [])
  useEffect(() => setCut(null), [log, JSON.stringify(filter)])
  async function take() {
    const end = new AbortController()
    stop.current = end
    setCut(null)
    setRead(0)
    const { file, count, failed } = await exported(org, log, filter, end.signal, setRead)
    setRead(null)
    if (failed === null) say(t.audit.exported(count))
    else setCut({ count, failed: end.signal.aborted ? null : failed })
    if (failed === null || count > 0) save(file, `audit-${org}-${log || 'org'}${failed === null ? '' : '-cut'}.ndjson`)
  }
  return {
    button: read === null ? <Button onPress={() => void take()}>{t.audit.take}</Button> : <Button onPress={() => stop.current?.abort()}>{t.audit.stop(read)}</Button>,
    trouble: cut && (
      <div className="stack close">
        <div className="note mind" role="alert"><p>{cut.count > 0 ? t.audit.cut(cut.count) : t.audit.cutEmpty}</p></div>
        {cut.failed !== null && <Failed of={cut.failed} retry={() => void take()} />}
      </div>
    ),
  }
}
