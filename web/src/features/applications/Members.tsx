import { useState } from 'react'
import { call, newKey } from '../../api/call.ts'
import { holds } from '../../api/gates.ts'
import { useMe } from '../../api/queries.ts'
import type { Application, Synced } from '../../api/schema.gen.ts'
import { apps } from '../../text/applications.ts'
import { t } from '../../text/en.ts'
import { Button } from '../../ui/Button.tsx'
import { Id, Name } from '../../ui/Id.tsx'
import { reread } from './Overview.tsx'
import { Trouble } from './Review.tsx'

const words = apps.overview
const key = 'cloud.applications.link_application'

/** Pushes the organization to its members now, and tells how each took it. */
export function Members({ org, of: a }: { org: string; of: Application }) {
  const me = useMe()
  const [busy, setBusy] = useState(false)
  const [told, setTold] = useState<Synced | null>(null)
  const [error, setError] = useState<unknown>(null)
  const lacks = holds(me.data, key) === 'yes' ? null : t.needs(key)
  async function push(application?: string) {
    setBusy(true)
    setError(null)
    try {
      setTold(await call('POST /orgs/{org}/sync', { path: { org }, body: application ? { application } : {} }, { key: newKey() }))
      await reread()
    } catch (failed) {
      setError(failed)
    }
    setBusy(false)
  }
  return (
    <section className="card stack" aria-label={words.sync}>
      <header><h2>{words.sync}</h2></header>
      <p className="dim">{words.syncHint}</p>
      {told && (
        <ul className="list" role="status">
          {told.results.map(r => (
            <li key={r.application}>
              <span className="grow"><Id of={r.application} /> <span className={r.applied ? 'tag yes' : 'tag no'}>{r.applied ? words.applied(r.durationMs ?? 0) : words.notApplied}</span></span>
              {r.code && <span className="small dim"><code>{r.code}</code> <Name of={r.message ?? ''} /></span>}
            </li>
          ))}
        </ul>
      )}
      {error !== null && <Trouble of={error} />}
      <div className="row"><Button busy={busy} reason={lacks} onPress={() => void push(a.id)}>{words.syncOne}</Button><Button busy={busy} reason={lacks} onPress={() => void push()}>{words.syncAll}</Button></div>
    </section>
  )
}
