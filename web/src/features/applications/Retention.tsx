import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { call, newKey } from '../../api/call.ts'
import { holds } from '../../api/gates.ts'
import { useMe } from '../../api/queries.ts'
import type { Answer } from '../../api/call.ts'
import type { Application } from '../../api/schema.gen.ts'
import { apps } from '../../text/applications.ts'
import { t } from '../../text/en.ts'
import { Button } from '../../ui/Button.tsx'
import { useSpot } from './Application.tsx'
import { Trouble } from './Review.tsx'

const words = apps.overview
const key = 'cloud.retention.manage_retention'

/** Its audit log, and whether a copy of it is kept here. */
export function Retention({ org, of: a }: { org: string; of: Application }) {
  const me = useMe()
  const { set } = useSpot()
  const [busy, setBusy] = useState(false)
  const [told, setTold] = useState<Answer<'POST /orgs/{org}/applications/{app}/ingest-audit'> | null>(null)
  const [error, setError] = useState<unknown>(null)
  const lacks = holds(me.data, key, 'cloud.app:' + a.id) === 'yes' ? null : t.needs(key)
  const refuses = a.state !== 'registered' && a.health?.auditOptIn === false
  async function ingest() {
    setBusy(true)
    setError(null)
    try {
      setTold(await call('POST /orgs/{org}/applications/{app}/ingest-audit', { path: { org, app: a.id } }, { key: newKey() }))
    } catch (failed) {
      setError(failed)
    }
    setBusy(false)
  }
  return (
    <section className="card stack" aria-label={words.audit}>
      <header><h2>{words.audit}</h2><span className={a.auditOptIn ? 'tag yes' : 'tag'}>{a.auditOptIn ? words.retained : words.notRetained}</span></header>
      <p className="dim">{a.auditOptIn ? words.retainedHint : words.notRetainedHint}</p>
      {refuses && <p>{words.refuses}</p>}
      {told && (
        <div className={told.integrity === 'ok' && !told.paused ? 'note yes' : 'note mind'} role="status">
          <div><p>{words.ingested(told.ingested, told.more)}</p>{told.integrity !== 'ok' && <p>{words.mismatch}</p>}{told.paused && <p>{words.paused}</p>}</div>
        </div>
      )}
      {error !== null && <Trouble of={error} />}
      <div className="row">
        <Link className="button" to="/orgs/$org/audit" params={{ org }} search={{ log: a.id }}>{words.read}</Link>
        <Button reason={lacks} onPress={() => set({ act: 'optin' }, false)}>{a.auditOptIn ? words.stop : words.keep}</Button>
        {a.auditOptIn && <Button busy={busy} reason={lacks ?? (a.state === 'registered' ? words.notLinked : null)} onPress={() => void ingest()}>{words.ingest}</Button>}
      </div>
    </section>
  )
}
