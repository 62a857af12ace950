import { useSyncExternalStore } from 'react'
import { t } from '../text/en.ts'

interface Toast { id: number; text: string }

let list: Toast[] = []
let next = 0
const listeners = new Set<() => void>()
const tell = () => listeners.forEach(l => l())

function drop(id: number) {
  list = list.filter(one => one.id !== id)
  tell()
}

/** Says in passing that something is done. */
export function say(text: string) {
  const id = next++
  list = [...list, { id, text }]
  tell()
  setTimeout(() => drop(id), 6000)
}

export function Toasts() {
  const now = useSyncExternalStore(l => (listeners.add(l), () => listeners.delete(l)), () => list)
  return (
    <div className="toasts" role="status" aria-live="polite">
      {now.map(one => (
        <div className="toast" key={one.id}>
          <span className="grow">{one.text}</span>
          <button type="button" aria-label={t.close} onClick={() => drop(one.id)}>×</button>
        </div>
      ))}
    </div>
  )
}
