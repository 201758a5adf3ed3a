import { StrictMode, useEffect, useState } from "react";
import { createRoot } from "react-dom/client";
import { isAutomatic, link, logging } from "./app";
import { useBonafide } from "./use-bonafide-react";

function Verify({ count }: { count: number }) {
  const open = useBonafide(logging(() => count));
  useEffect(() => {
    if (isAutomatic()) void open(link());
  }, [open]);
  return <button id="verify" onClick={() => open(link())}>Verify</button>;
}

function App() {
  const [isShown, show] = useState(true);
  const [count, rerender] = useState(0);
  useEffect(() => {
    Object.assign(window, { show, rerender });
  }, []);
  return isShown ? <Verify count={count} /> : null;
}

const root = document.querySelector("#app");
if (root) createRoot(root).render(<StrictMode><App /></StrictMode>);
