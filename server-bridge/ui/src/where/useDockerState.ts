/** Docker's state while its image is not there yet: it changes without an event, when a command pulls the image. */
import { useEffect } from "react";
import { DOCKER_LOOK_MS } from "../limits";
import { useActions } from "../state/context";

/** Looks at Docker again and again while this view shows that its image is not there. A hidden page does not look. */
export function useDockerState(isPulling: boolean): void {
  const { lookAtDocker } = useActions();
  useEffect(() => {
    if (!isPulling) return;
    let timer: ReturnType<typeof setTimeout>;
    let isOver = false;
    const look = async () => {
      // If the server does not answer now, the next look may succeed.
      if (!document.hidden) await lookAtDocker().catch(() => undefined);
      if (!isOver) timer = setTimeout(() => void look(), DOCKER_LOOK_MS);
    };
    timer = setTimeout(() => void look(), DOCKER_LOOK_MS);
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [isPulling, lookAtDocker]);
}
