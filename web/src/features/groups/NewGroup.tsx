import { Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { call } from '../../api/call.ts'
import { holds } from '../../api/gates.ts'
import { useOnce } from '../../api/once.ts'
import { useEffects } from '../../api/planning.ts'
import { readAnew, useMe, useOrg } from '../../api/queries.ts'
import { t } from '../../text/en.ts'
import { g } from '../../text/groups.ts'
import { w } from '../../text/writes.ts'
import { Button } from '../../ui/Button.tsx'
import { cycle } from '../../ui/Cycle.tsx'
import { Field } from '../../ui/Field.tsx'
import { Id, Name, SubjectName } from '../../ui/Id.tsx'
import { Impact } from '../../ui/Impact.tsx'
import { Page } from '../../ui/Page.tsx'
import { Plan } from '../../ui/Plan.tsx'
import { Sure } from '../../ui/Sure.tsx'
import { say } from '../../ui/Toasts.tsx'
import { key } from './gate.ts'
import { Parents } from './Parents.tsx'

export function NewGroup() {
  const org = useOrg()
  const navigate = useNavigate()
  const me = useMe()
  const once = useOnce()
  const [name, setName] = useState('')
  const [id, setId] = useState('')
  const [description, setDescription] = useState('')
  const [parents, setParents] = useState<string[]>([])
  const [review, setReview] = useState(false)
  const may = holds(me.data, key) === 'yes'
  // A group that nobody is in reaches nobody; the host still says whether it can be.
  const effects = useEffects(review && id.trim() ? { with: { groups: [{ groupId: id.trim(), parents }] } } : null)
  async function make() {
    const body = { name: name.trim(), ...(id.trim() ? { id: id.trim() } : {}), ...(description.trim() ? { description: description.trim() } : {}), parents }
    const { group } = await once(body, key => call('POST /orgs/{org}/org/groups', { path: { org }, body }, { key }))
    say(g.made)
    void readAnew()
    await navigate({ to: '/orgs/$org/groups/$id', params: { org, id: group.id } })
  }
  return (
    <Page title={g.new} lead={g.newLead}>
      <form className="card form measure" onSubmit={e => (e.preventDefault(), setReview(true))}>
        <div className="fields">
          <Field label={t.groups.name}>{a => <input {...a} value={name} onChange={e => setName(e.target.value)} required autoComplete="off" />}</Field>
          <Field label={t.groups.id} hint={w.idHint}>{a => <input {...a} className="mono" value={id} onChange={e => setId(e.target.value)} autoComplete="off" autoCapitalize="none" spellCheck={false} />}</Field>
        </div>
        <Field label={t.groups.about}>{a => <input {...a} value={description} onChange={e => setDescription(e.target.value)} autoComplete="off" />}</Field>
        <Parents org={org} value={parents} onChange={setParents} />
        <div className="row"><Button kind="main" type="submit" reason={may ? null : t.needs(key)}>{w.review}</Button><Link className="button" to="/orgs/$org/groups" params={{ org }}>{t.cancel}</Link></div>
      </form>
      {review && (
        <Sure title={w.title} submit={g.make} onSure={make} onEnd={() => setReview(false)} about={failed => cycle(org, 'group', failed)}>
          <Plan
            steps={[
              { sign: '+', text: <>{g.makes} <strong><Name of={name} /></strong>{id.trim() && <> <Id of={id.trim()} /></>}</> },
              ...parents.map(p => ({ sign: '+' as const, text: <>{g.withParents} <SubjectName of={'group:' + p} /></> })),
            ]}
          />
          <p className="dim">{w.root}</p>
          {id.trim() ? <Impact of={effects} none={g.nobody} /> : <p><strong>{g.nobody}</strong></p>}
        </Sure>
      )}
    </Page>
  )
}
