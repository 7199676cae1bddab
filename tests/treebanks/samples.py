"""Small hand-written treebanks with everything CoNLL-U has."""

PLAIN = """\
# sent_id = one
# text = Birds sing.
1\tBirds\tbird\tNOUN\tNNS\tNumber=Plur\t2\tnsubj\t2:nsubj\t_
2\tsing\tsing\tVERB\tVBP\t_\t0\troot\t0:root\tSpaceAfter=No
3\t.\t.\tPUNCT\t.\t_\t2\tpunct\t2:punct\t_

"""

RICH = """\
# newdoc id = d1
# sent_id = two
# text = Vámonos al río y tú no.
1-2\tVámonos\t_\t_\t_\t_\t_\t_\t_\t_
1\tVamos\tir\tVERB\t_\tMood=Imp|Number=Plur\t0\troot\t0:root\tNote=a
2\tnos\tnosotros\tPRON\t_\tCase=Acc\t1\tobj\t1:obj\t_
3-4\tal\t_\t_\t_\t_\t_\t_\t_\t_
3\ta\ta\tADP\t_\t_\t5\tcase\t5:case\t_
4\tel\tel\tDET\t_\t_\t5\tdet\t5:det\t_
5\trío\trío\tNOUN\t_\t_\t1\tobl\t1:obl:a\t_
6\ty\ty\tCCONJ\t_\t_\t8\tcc\t8:cc|8.1:cc\t_
7\ttú\ttú\tPRON\t_\t_\t8\torphan\t8.1:nsubj\t_
8\tno\tno\tADV\t_\t_\t1\tconj\t8.1:advmod\tSpaceAfter=No
8.1\tvas\tir\tVERB\t_\t_\t_\t_\t1:conj\tCopyOf=1
9\t.\t.\tPUNCT\t_\t_\t1\tpunct\t1:punct\t_

"""

PARTIAL = """\
# sent_id = three
1\t猫\t_\tNOUN\t_\t_\t3\tnsubj\t_\t_
2\tが\t_\tADP\t_\t_\t_\t_\t_\t_
3\t寝る\t_\tVERB\t_\t_\t_\t_\t_\t_

"""

ALL = PLAIN + RICH + PARTIAL
