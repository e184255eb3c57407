import { lazy, Suspense } from "react";
import type { Edit } from "../../types";
import styles from "./cards.module.css";

const DiffView = lazy(() => import("./DiffView"));

/** `DiffView`, loaded when the first change is shown. */
export function LazyDiff({ edit, path }: { edit: Edit; path: string }) {
  const plain = <pre className={styles.output}>{edit.new}</pre>;
  return (
    <Suspense fallback={plain}>
      <DiffView edit={edit} path={path} />
    </Suspense>
  );
}
