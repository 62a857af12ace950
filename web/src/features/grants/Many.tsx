import { Link, useNavigate } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import { call } from '../../api/call.ts'
import { isFailure } from '../../api/errors.ts'
import { useOnce } from '../../api/once.ts'
import { useEffects } from '../../api/planning.ts'
import { readAnew, useMe, useOrg, useVocabulary } from '../../api/queries.ts'
import { holds } from '../../api/gates.ts'
import { homeOf } from '../../domain/catalog.ts'
import { type Line, readLines } from '../../domain/lines.ts'
import { namespaceOf } from '../../domain/scopes.ts'
import { visible } from '../../domain/visible.ts'
import { t } from '../../text/en.ts'
import { gr } from '../../text/grants.ts'
import { w } from '../../text/writes.ts'
import { Button } from '../../ui/Button.tsx'
import { Field } from '../../ui/Field.tsx'
import { Impact, untilTold } from '../../ui/Impact.tsx'
import { Page } from '../../ui/Page.tsx'
import { Plan } from '../../ui/Plan.tsx'
import { Sure } from '../../ui/Sure.tsx'
import { say } from '../../ui/Toasts.tsx'
import { grantsKey } from './gate.ts'
import { What } from './What.tsx'

const shown = 100

/** Many grants, a line each: all of them are made, or none. */
export function Many() {
  const org = useOrg()
  const navigate = useNavigate()
  const me = useMe()
  const words = useVocabulary()
  const once = useOnce()
  const [text, setText] = useState('')
  const [lines, setLines] = useState<Line[] | null>(null)
  const [review, setReview] = useState(false)
  const wrong = lines?.filter(l => l.wrong || l.sameAs) ?? []
  const inputs = lines?.flatMap(l => (l.input ? [l.input] : [])) ?? []
  // The host refuses rows of several homes when they are written; whose they are is known before.
  const keptBy = (scope: string) => homeOf(words.data, scope) ?? namespaceOf(scope)
  const homes = [...new Set(inputs.map(i => keptBy(i.scope ?? '*')))]
  const home = homes[0] ?? ''
  const account = inputs.length > 0 && inputs.every(i => (i.pattern ?? '').startsWith('cloud.') || (i.scope ?? '').startsWith('cloud.'))
  const effects = useEffects(review && !account ? { with: { grants: inputs.map(({ subject, roleId, pattern, scope, expiresAt }) => ({ subject, scope: scope ?? '*', ...(roleId ? { roleId } : { pattern: pattern ?? '' }), ...(expiresAt ? { expiresAt } : {}) })) } } : null, home)
  function begin(e: FormEvent) {
    e.preventDefault()
    const read = readLines(text, Date.now())
    setLines(read)
    const scopes = new Set(read.map(l => keptBy(l.input?.scope ?? '*')))
    setReview(read.length > 0 && scopes.size === 1 && !read.some(l => l.wrong || l.sameAs))
  }
  async function give() {
    const made = await once(inputs, key => call('POST /orgs/{org}/org/grants/bulk', { path: { org }, body: { grants: inputs } }, { key }))
    say(gr.made(made.grants.length))
    void readAnew()
    await navigate({ to: '/orgs/$org/grants', params: { org }, search: { home: made.home.application } })
  }
  // The host names the row of a plan by its place among the rows.
  function refused(failed: unknown) {
    const place = isFailure(failed) ? /^with\.grants\[(\d+)\]:?\s*/.exec(failed.message) : null
    const line = place && lines?.filter(l => l.input)[Number(place[1])]
    if (!line || !place || !isFailure(failed)) return null
    return (
      <div className="note no" role="alert">
        <div><p><strong>{gr.refusedRow(line.at)}</strong> <code className="id">{visible(line.text)}</code></p><p>{visible(failed.message.slice(place[0].length))}</p></div>
      </div>
    )
  }
  const may = holds(me.data, account ? 'cloud.seats.update_seat' : grantsKey) === 'yes'
  return (
    <Page title={gr.title} lead={gr.lead}>
      <form className="card form" onSubmit={begin}>
        <Field label={gr.rows} hint={gr.rowsHint}>
          {a => <textarea {...a} className="mono" rows={10} value={text} placeholder={gr.example} onChange={e => (setText(e.target.value), setLines(null))} spellCheck={false} autoCapitalize="none" />}
        </Field>
        {lines?.length === 0 && <p className="wrong" role="alert">{gr.none}</p>}
        {wrong.length > 0 && (
          <div className="note no" role="alert">
            <ul className="stack tight">
              {wrong.slice(0, shown).map(l => <li key={l.at}><strong>{gr.wrongLine(l.at)}</strong>: {l.wrong ? gr.wrong[l.wrong] : gr.wrong.same(l.sameAs ?? 0)} <code className="id dim">{visible(l.text)}</code></li>)}
            </ul>
          </div>
        )}
        {wrong.length === 0 && homes.length > 1 && <div className="note no" role="alert"><p>{gr.homes(homes.map(h => h || gr.everywhere))}</p></div>}
        <div className="row"><Button kind="main" type="submit" reason={may ? null : t.needs(grantsKey)}>{w.review}</Button><Link className="button" to="/orgs/$org/grants" params={{ org }}>{t.cancel}</Link></div>
      </form>
      {review && (
        <Sure title={w.title} submit={gr.give} reason={account ? null : untilTold(effects)} onSure={give} onEnd={() => setReview(false)}>
          <div className="bounded" tabIndex={0} role="region" aria-label={gr.rows}><Plan steps={inputs.slice(0, shown).map(i => ({ sign: '+', text: <What of={i} /> }))} /></div>
          {inputs.length > shown && <p className="small dim">{gr.first(shown)}</p>}
          <p className="dim">{account ? t.give.account : home ? w.keptBy(home) : w.root} {gr.allOrNone}</p>
          {!account && <Impact of={effects} none={t.give.noChange} refused={refused} />}
        </Sure>
      )}
    </Page>
  )
}
