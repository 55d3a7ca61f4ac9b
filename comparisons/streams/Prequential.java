import com.sun.management.OperatingSystemMXBean;
import com.yahoo.labs.samoa.instances.Instance;
import java.io.DataInputStream;
import java.io.BufferedInputStream;
import java.io.FileInputStream;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import moa.classifiers.AbstractClassifier;
import moa.core.InstanceExample;
import moa.options.ClassOption;
import moa.streams.ArffFileStream;

/**
 * Tests and trains a learner of MOA on each row of an ARFF file, the class or target being the last column.
 *
 * Arguments: the learner as on MOA's command line, its seed, the file, rows between two lines of output, whether the
 * target is a class, the smallest probability, and processor seconds after which it ends at the next line.
 *
 * A line of output has, over all rows so far: rows, errors (or absolute errors), log losses (or squared errors), and
 * the processor seconds of all threads of the process since the first row, without those of reading the file.
 */
public class Prequential {
    public static void main(String[] a) throws Exception {
        AbstractClassifier learner =
            (AbstractClassifier) ClassOption.cliStringToObject(a[0], moa.learners.Learner.class, null);
        int step = Integer.parseInt(a[3]);
        boolean isClass = Boolean.parseBoolean(a[4]);
        double least = Double.parseDouble(a[5]), seconds = Double.parseDouble(a[6]);
        ArffFileStream stream = new ArffFileStream(a[2], -1);
        stream.prepareForUse();
        learner.setRandomSeed(Integer.parseInt(a[1]));
        learner.setModelContext(stream.getHeader());
        learner.prepareForUse();
        List<Instance> rows = new ArrayList<>();
        while (stream.hasMoreInstances()) {
            rows.add(stream.nextInstance().getData());
        }
        int nClasses = isClass ? stream.getHeader().numClasses() : 0;
        OperatingSystemMXBean system = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        System.gc();
        double errors = 0.0, losses = 0.0;
        long start = system.getProcessCpuTime();
        for (int i = 0; i < rows.size(); i++) {
            Instance row = rows.get(i);
            double[] votes = learner.getVotesForInstance(row);
            if (isClass) {
                int label = (int) row.classValue(), best = 0;
                double total = 0.0;
                for (int k = 0; k < votes.length; k++) {
                    total += votes[k];
                    best = votes[k] > votes[best] ? k : best;
                }
                double p = total > 0.0 ? (label < votes.length ? votes[label] / total : 0.0) : 1.0 / nClasses;
                p = Double.isNaN(p) ? 1.0 / nClasses : p; // infinite votes
                errors += best == label ? 0.0 : 1.0;
                losses -= Math.log(Math.min(Math.max(p, least), 1.0));
            } else {
                double away = (votes.length > 0 ? votes[0] : 0.0) - row.classValue();
                away = Double.isNaN(away) ? 1e100 : Math.min(Math.abs(away), 1e100);
                errors += away;
                losses += away * away;
            }
            learner.trainOnInstance(row);
            if ((i + 1) % step == 0) {
                double taken = 1e-9 * (system.getProcessCpuTime() - start);
                System.out.println((i + 1) + " " + errors + " " + losses + " " + taken);
                if (taken > seconds) {
                    return;
                }
            }
        }
    }
}
